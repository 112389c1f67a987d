//! Programs as Rust.

use super::graph::{location_name, register_name};
use super::program::{Instruction, Program};
use std::fmt::Write;

/// The body of a function that runs the program: the main thread spawns the threads, joins them, and prints one line,
/// `outcome: ` and what [`super::Outcome`] prints.
///
/// All writes happen before the main thread's loads at the end, which hence give the last values.
pub fn render(program: &Program) -> String {
    let mut out = String::from("use std::sync::atomic::{AtomicU32, Ordering::*};\n");
    for location in 0..program.locations() {
        let name = location_static(location);
        writeln!(out, "static {name}: AtomicU32 = AtomicU32::new(0);").expect("a string takes all");
    }
    for mutex in 0..program.mutexes() {
        writeln!(
            out,
            "static M{mutex}: std::sync::Mutex<()> = std::sync::Mutex::new(());"
        )
        .expect("a string takes all");
    }
    let mut printer = Printer {
        program,
        lines: Lines { text: out, indent: 0 },
    };
    for thread in program.spawned_by_main() {
        printer.spawn(thread);
    }
    for thread in program.spawned_by_main() {
        printer.line(&format!("let {} = t{thread}.join().unwrap();", printer.pattern(thread)));
    }
    printer.outcome();
    printer.lines.text
}

/// Lines of a program, indented.
pub(super) struct Lines {
    pub text: String,
    pub indent: usize,
}

impl Lines {
    /// Adds a line.
    pub fn line(&mut self, text: &str) {
        writeln!(self.text, "{:1$}{text}", "", 4 * self.indent).expect("a string takes all");
    }
}

fn location_static(location: usize) -> String {
    location_name(location).to_uppercase()
}

struct Printer<'p> {
    program: &'p Program,
    lines: Lines,
}

impl Printer<'_> {
    fn line(&mut self, text: &str) {
        self.lines.line(text);
    }

    /// The threads that this one spawns, in order.
    fn children(&self, thread: usize) -> Vec<usize> {
        let instructions = self.program.threads()[thread].iter();
        let children = instructions.filter_map(|instruction| match *instruction {
            Instruction::Spawn(child) => Some(child),
            _ => None,
        });
        children.collect()
    }

    /// What a thread returns: its registers, and what its children returned.
    fn result(&self, thread: usize) -> String {
        self.nested(thread, &|thread| format!("r{thread}"))
    }

    /// The same as a pattern of the main thread, which looks at registers only.
    fn pattern(&self, thread: usize) -> String {
        self.nested(thread, &|thread| match self.program.registers(thread) {
            0 => "_".to_owned(),
            _ => format!("r{thread}"),
        })
    }

    fn nested(&self, thread: usize, name: &impl Fn(usize) -> String) -> String {
        let children = self.children(thread);
        if children.is_empty() {
            return name(thread);
        }
        let children: Vec<String> = children.iter().map(|&child| self.nested(child, name)).collect();
        format!("({}, {})", name(thread), children.join(", "))
    }

    fn spawn(&mut self, thread: usize) {
        self.line(&format!("let t{thread} = std::thread::spawn(|| {{"));
        self.lines.indent += 1;
        let registers = self.program.registers(thread);
        let mutable = if registers > 0 { "mut " } else { "" };
        self.line(&format!("let {mutable}r{thread} = [0u32; {registers}];"));
        let instructions = &self.program.threads()[thread];
        self.instructions(thread, instructions);
        for child in self.program.joined_at_the_end(thread) {
            self.join(child);
        }
        self.line(&self.result(thread));
        self.lines.indent -= 1;
        self.line("});");
    }

    fn join(&mut self, child: usize) {
        self.line(&format!("let {} = t{child}.join().unwrap();", self.result(child)));
    }

    fn instructions(&mut self, thread: usize, instructions: &[Instruction]) {
        for instruction in instructions {
            self.instruction(thread, instruction);
        }
    }

    fn instruction(&mut self, thread: usize, instruction: &Instruction) {
        let text = match instruction {
            Instruction::Load {
                register,
                location,
                ordering,
            } => {
                let location = location_static(*location);
                format!("r{thread}[{register}] = {location}.load({ordering:?});")
            }
            Instruction::Store {
                location,
                value,
                ordering,
            } => {
                let location = location_static(*location);
                format!("{location}.store({value}, {ordering:?});")
            }
            Instruction::Add {
                register,
                location,
                operand,
                ordering,
            } => {
                let location = location_static(*location);
                format!("r{thread}[{register}] = {location}.fetch_add({operand}, {ordering:?});")
            }
            Instruction::Swap {
                register,
                location,
                value,
                ordering,
            } => {
                let location = location_static(*location);
                format!("r{thread}[{register}] = {location}.swap({value}, {ordering:?});")
            }
            Instruction::CompareExchange {
                register,
                location,
                expected,
                new,
                success,
                failure,
            } => {
                let location = location_static(*location);
                let arguments = format!("{expected}, {new}, {success:?}, {failure:?}");
                format!("r{thread}[{register}] = {location}.compare_exchange({arguments}).unwrap_or_else(|old| old);")
            }
            Instruction::Fence(ordering) => format!("std::sync::atomic::fence({ordering:?});"),
            Instruction::If { register, equals, then } => {
                self.line(&format!("if r{thread}[{register}] == {equals} {{"));
                self.lines.indent += 1;
                self.instructions(thread, then);
                self.lines.indent -= 1;
                "}".to_owned()
            }
            Instruction::Lock(mutex) => format!("let g{mutex} = M{mutex}.lock().unwrap();"),
            Instruction::Unlock(mutex) => format!("drop(g{mutex});"),
            Instruction::Spawn(child) => return self.spawn(*child),
            Instruction::Join(child) => return self.join(*child),
        };
        self.line(&text);
    }

    fn outcome(&mut self) {
        let mut format = String::new();
        let mut values = String::new();
        for thread in 0..self.program.threads().len() {
            for register in 0..self.program.registers(thread) {
                write!(format, "{}={{}} ", register_name(thread, register)).expect("a string takes all");
                write!(values, ", r{thread}[{register}]").expect("a string takes all");
            }
        }
        format.push('|');
        for location in 0..self.program.locations() {
            write!(format, " {}={{}}", location_name(location)).expect("a string takes all");
            write!(values, ", {}.load(Relaxed)", location_static(location)).expect("a string takes all");
        }
        self.line(&format!("println!(\"outcome: {format}\"{values});"));
    }
}
