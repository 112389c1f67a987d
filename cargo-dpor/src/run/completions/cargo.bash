
# `cargo dpor …` is completed as `cargo-dpor …`, and all else as it was before.
_cargo_before_dpor=$(complete -p cargo 2>/dev/null | sed -n 's/.* -F \([^ ]*\) .*/\1/p')
if [[ "$_cargo_before_dpor" == _cargo_with_dpor ]]; then
    _cargo_before_dpor=
fi

_cargo_with_dpor() {
    if ((COMP_CWORD > 1)) && [[ "${COMP_WORDS[1]}" == dpor ]]; then
        local COMP_WORDS=(cargo-dpor "${COMP_WORDS[@]:2}") COMP_CWORD=$((COMP_CWORD - 1))
        local before="$3"
        if ((COMP_CWORD == 1)); then
            before=cargo-dpor
        fi
        _cargo_dpor cargo-dpor "$2" "$before"
        return
    fi
    if [[ -z "$_cargo_before_dpor" ]] && ! declare -F _cargo >/dev/null; then
        # Cargo's own script may not have been read yet.
        if declare -F _comp_load >/dev/null; then
            _comp_load cargo
        elif declare -F _completion_loader >/dev/null; then
            _completion_loader cargo
        fi
        complete -F _cargo_with_dpor -o nosort -o bashdefault -o default cargo 2>/dev/null ||
            complete -F _cargo_with_dpor -o bashdefault -o default cargo
    fi
    if declare -F "${_cargo_before_dpor:-_cargo}" >/dev/null; then
        "${_cargo_before_dpor:-_cargo}" "$@"
    fi
    if ((COMP_CWORD == 1)) && [[ dpor == "$2"* ]]; then
        COMPREPLY+=(dpor)
    fi
}

complete -F _cargo_with_dpor -o nosort -o bashdefault -o default cargo 2>/dev/null ||
    complete -F _cargo_with_dpor -o bashdefault -o default cargo
