
# `cargo dpor …` is completed as `cargo-dpor …`.
function __fish_cargo_with_dpor
    set -l words (commandline -opc)
    test (count $words) -ge 2 -a "$words[2]" = dpor
end

function __fish_cargo_dpor_words
    set -l words (commandline -opc)
    set -e words[1..2]
    complete -C "cargo-dpor "(string join ' ' -- (string escape -- $words) (commandline -ct))
end

complete -c cargo -n "__fish_use_subcommand" -f -a dpor -d 'Explore thread interleavings of tests'
complete -c cargo -n "__fish_cargo_with_dpor" -f -a "(__fish_cargo_dpor_words)"
