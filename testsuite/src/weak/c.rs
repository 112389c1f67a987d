//! Programs as C, for checkers of C.

use super::graph::location_name;
use super::print::Lines;
use super::program::{Instruction, Program};
use std::sync::atomic::Ordering;

/// A C11 program that does the same, with POSIX threads. It prints nothing.
pub fn render_c(program: &Program) -> String {
    let mut printer = Printer(Lines {
        text: String::from("#include <pthread.h>\n#include <stdatomic.h>\n\n"),
        indent: 0,
    });
    for location in 0..program.locations() {
        printer.line(&format!("atomic_uint {};", location_name(location)));
    }
    for mutex in 0..program.mutexes() {
        printer.line(&format!("pthread_mutex_t m{mutex} = PTHREAD_MUTEX_INITIALIZER;"));
    }
    let threads = 0..program.threads().len();
    for thread in threads.clone() {
        printer.line(&format!("pthread_t t{thread};\nvoid *run{thread}(void *);"));
    }
    for thread in threads {
        printer.thread(program, thread);
    }
    printer.begin("int main(void) {");
    program.spawned_by_main().for_each(|thread| printer.spawn(thread));
    program.spawned_by_main().for_each(|thread| printer.join(thread));
    printer.line("return 0;");
    printer.end();
    printer.0.text
}

fn order(ordering: Ordering) -> &'static str {
    match ordering {
        Ordering::Relaxed => "memory_order_relaxed",
        Ordering::Acquire => "memory_order_acquire",
        Ordering::Release => "memory_order_release",
        Ordering::AcqRel => "memory_order_acq_rel",
        _ => "memory_order_seq_cst",
    }
}

struct Printer(Lines);

impl Printer {
    fn line(&mut self, text: &str) {
        self.0.line(text);
    }

    fn begin(&mut self, text: &str) {
        self.line(text);
        self.0.indent += 1;
    }

    fn end(&mut self) {
        self.0.indent -= 1;
        self.line("}");
    }

    fn spawn(&mut self, thread: usize) {
        self.line(&format!("pthread_create(&t{thread}, 0, run{thread}, 0);"));
    }

    fn join(&mut self, thread: usize) {
        self.line(&format!("pthread_join(t{thread}, 0);"));
    }

    fn thread(&mut self, program: &Program, thread: usize) {
        self.begin(&format!("void *run{thread}(void *unused) {{"));
        for register in 0..program.registers(thread) {
            self.line(&format!("unsigned r{register} = 0;"));
        }
        self.instructions(&program.threads()[thread]);
        program.joined_at_the_end(thread).for_each(|child| self.join(child));
        self.line("return 0;");
        self.end();
    }

    fn instructions(&mut self, instructions: &[Instruction]) {
        for instruction in instructions {
            self.instruction(instruction);
        }
    }

    fn instruction(&mut self, instruction: &Instruction) {
        let text = match *instruction {
            Instruction::Load {
                register,
                location,
                ordering,
            } => {
                let (atomic, order) = (location_name(location), order(ordering));
                format!("r{register} = atomic_load_explicit(&{atomic}, {order});")
            }
            Instruction::Store {
                location,
                value,
                ordering,
            } => {
                let (atomic, order) = (location_name(location), order(ordering));
                format!("atomic_store_explicit(&{atomic}, {value}, {order});")
            }
            Instruction::Add {
                register,
                location,
                operand,
                ordering,
            } => {
                let (atomic, order) = (location_name(location), order(ordering));
                format!("r{register} = atomic_fetch_add_explicit(&{atomic}, {operand}, {order});")
            }
            Instruction::Swap {
                register,
                location,
                value,
                ordering,
            } => {
                let (atomic, order) = (location_name(location), order(ordering));
                format!("r{register} = atomic_exchange_explicit(&{atomic}, {value}, {order});")
            }
            Instruction::CompareExchange {
                register,
                location,
                expected,
                new,
                success,
                failure,
            } => {
                let (atomic, success, failure) = (location_name(location), order(success), order(failure));
                // It puts there what it finds, if it fails.
                self.line(&format!("r{register} = {expected};"));
                format!(
                    "atomic_compare_exchange_strong_explicit(&{atomic}, &r{register}, {new}, {success}, {failure});"
                )
            }
            Instruction::Fence(ordering) => format!("atomic_thread_fence({});", order(ordering)),
            Instruction::If {
                register,
                equals,
                ref then,
            } => {
                self.begin(&format!("if (r{register} == {equals}) {{"));
                self.instructions(then);
                self.end();
                return;
            }
            Instruction::Lock(mutex) => format!("pthread_mutex_lock(&m{mutex});"),
            Instruction::Unlock(mutex) => format!("pthread_mutex_unlock(&m{mutex});"),
            Instruction::Spawn(child) => return self.spawn(child),
            Instruction::Join(child) => return self.join(child),
        };
        self.line(&text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::weak::litmus::{if_equal, load, store};
    use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, SeqCst};

    const EXPECTED: &str = "\
#include <pthread.h>
#include <stdatomic.h>

atomic_uint x;
pthread_t t0;
void *run0(void *);
pthread_t t1;
void *run1(void *);
void *run0(void *unused) {
    atomic_store_explicit(&x, 1, memory_order_seq_cst);
    atomic_thread_fence(memory_order_seq_cst);
    return 0;
}
void *run1(void *unused) {
    unsigned r0 = 0;
    unsigned r1 = 0;
    r0 = atomic_load_explicit(&x, memory_order_acquire);
    if (r0 == 1) {
        r1 = 1;
        atomic_compare_exchange_strong_explicit(&x, &r1, 2, memory_order_acq_rel, memory_order_relaxed);
    }
    return 0;
}
int main(void) {
    pthread_create(&t0, 0, run0, 0);
    pthread_create(&t1, 0, run1, 0);
    pthread_join(t0, 0);
    pthread_join(t1, 0);
    return 0;
}
";

    #[test]
    fn a_program_reads_as_expected() {
        let exchange = Instruction::CompareExchange {
            register: 1,
            location: 0,
            expected: 1,
            new: 2,
            success: AcqRel,
            failure: Relaxed,
        };
        let first = vec![store(0, 1, SeqCst), Instruction::Fence(SeqCst)];
        let second = vec![load(0, 0, Acquire), if_equal(0, 1, vec![exchange])];
        assert_eq!(render_c(&Program::new(vec![first, second])), EXPECTED);
    }
}
