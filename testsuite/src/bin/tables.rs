//! Prints the tables of CAV 2017, of TransDPOR and of FORTE 2019, published and measured.

use dpor_testsuite::papers::transdpor::{actor_tables, print_actors};
use dpor_testsuite::papers::{
    Format, Limit, MeasuredRow, STRATEGIES, Table, explore_rust, explore_toy, forte19, print, tables,
};
use std::process::ExitCode;
use std::time::Duration;

const USAGE: &str = "\
usage: tables [OPTIONS]

Prints the published figures beside those of the toy programs and of the Rust tests: complete executions (>N: the
exploration was cut after N), executions given up asleep (blocked) or in a known state (pruned), states visited,
milliseconds, and how many times fewer executions there were than under `source`.

  --table ID       only this one of: section3, 1, 2, variants (CAV 2017); registry, transdpor1, transdpor2,
                   transdpor2-bugs (TransDPOR: paths and transitions, for each of three orders); forte19
  --fast           leave out the programs that take minutes; --max-time 5 unless given
  --max-time SECS  give up an exploration after this time [default: 120, as in the paper]
  --markdown       as Markdown
  --help           this text
";

fn main() -> ExitCode {
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(None) => {
            print!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        Err(Some(error)) => {
            eprint!("{error}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    for table in tables() {
        if options.table.as_ref().is_none_or(|id| *id == table.id) {
            show(table, &options);
        }
    }
    for table in actor_tables() {
        if options.table.as_ref().is_none_or(|id| *id == table.id) {
            let text = print_actors(&table, options.limit, options.format);
            println!("{}{}\n\n{text}", options.heading(), table.title);
        }
    }
    if options.table.as_deref().is_none_or(|id| id == FORTE19) {
        show_forte19(&options);
    }
    ExitCode::SUCCESS
}

/// The command line.
struct Options {
    table: Option<String>,
    fast: bool,
    limit: Limit,
    format: Format,
}

impl Options {
    /// Reads the arguments; `Err(None)` if only help is wanted.
    fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Options, Option<String>> {
        let (mut table, mut seconds) = (None, None);
        let (mut fast, mut format) = (false, Format::Text);
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or(format!("{argument}: a value is missing"));
            match argument.as_str() {
                "--table" => table = Some(value()?),
                "--max-time" => {
                    let number = value()?.parse();
                    seconds = Some(number.map_err(|_| "--max-time: not a number of seconds".to_owned())?);
                }
                "--fast" => fast = true,
                "--markdown" => format = Format::Markdown,
                "--help" => return Err(None),
                _ => return Err(Some(format!("unknown option: {argument}"))),
            }
        }
        if let Some(id) = &table
            && id != FORTE19
            && tables().iter().all(|table| table.id != id)
            && actor_tables().iter().all(|table| table.id != id)
        {
            return Err(Some(format!("there is no table {id}")));
        }
        let seconds = seconds.unwrap_or(if fast { 5 } else { 120 });
        Ok(Options {
            table,
            fast,
            limit: Limit(Duration::from_secs(seconds)),
            format,
        })
    }
}

/// The table of FORTE 2019 is asked for by this.
const FORTE19: &str = "forte19";

impl Options {
    /// The text before a heading.
    fn heading(&self) -> &'static str {
        match self.format {
            Format::Text => "",
            Format::Markdown => "### ",
        }
    }
}

fn show_forte19(options: &Options) {
    let heading = options.heading();
    let table = forte19::print(&forte19::rows(), options.limit, options.format);
    println!("{heading}FORTE 2019, Table 1: traces of message-passing programs\n\n{table}");
    let study = forte19::print_partial(options.limit, options.format);
    println!("{heading}FORTE 2019, §4.4: k-partial alternatives\n\n{study}");
}

/// Measures a table and prints it.
fn show(mut table: Table, options: &Options) {
    if options.fast {
        table.rows.retain(|row| !row.slow);
    }
    let tests: Vec<_> = table.rows.iter().map(|row| row.test.as_str()).collect();
    let rust = STRATEGIES.map(|strategy| explore_rust(table.target, &tests, strategy, options.limit));
    let measured = |row: _| MeasuredRow {
        row,
        toy: row
            .toy
            .as_ref()
            .map(|toy| STRATEGIES.map(|strategy| explore_toy(toy, strategy, options.limit))),
        rust: std::array::from_fn(|i| rust[i][&row.test]),
    };
    let rows: Vec<_> = table.rows.iter().map(measured).collect();
    let heading = options.heading();
    println!("{heading}{}\n\n{}", table.title, print(&rows, options.format));
}
