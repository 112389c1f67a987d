//! Panics of the explored program: recorded where they happen, before anything unwinds.

use super::output::{Output, Stream};
use super::{on_model, on_model_thread};
use crate::machine::panics::HookFunction;
pub use crate::machine::panics::{Hook, PanicRecord};
use std::mem;
use std::panic::{self, PanicHookInfo};
use std::sync::Once;

/// The message of a panic whose payload is no string.
const OTHER_PAYLOAD: &str = "Box<dyn Any>";

/// Installs our hook before the present one, once per process.
pub(crate) fn install_hook() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let previous = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if on_model_thread() {
                record(info)
            } else {
                previous(info)
            }
        }));
    });
}

fn record(info: &PanicHookInfo<'_>) {
    let message = info.payload_as_str().unwrap_or(OTHER_PAYLOAD);
    on_model(|machine| {
        machine.execution.threads[machine.step.thread].panic = Some(PanicRecord {
            message: message.to_owned(),
            location: info.location().map(|l| (l.file().to_owned(), l.line(), l.column())),
        });
    });
    match take() {
        Some(hook) => {
            hook(info);
            // Unless the hook has set another one.
            let replaced = on_model(|machine| machine.execution.hook.0.is_some());
            if !replaced {
                on_model(|machine| machine.execution.hook.0 = Some(hook));
            }
        }
        None => print_default(message, info),
    }
}

/// Removes the explored program's own hook.
fn take() -> Option<Hook> {
    // As words, all of which are written even if there is none.
    let words = on_model(|machine| match machine.execution.hook.0.take() {
        // SAFETY: a pointer to a trait object is the address of its data and that of its functions.
        Some(hook) => unsafe { mem::transmute::<*mut HookFunction, [usize; 2]>(Box::into_raw(hook)) },
        None => [0; 2],
    });
    // SAFETY: the words of a box that has been given up.
    (words != [0; 2]).then(|| unsafe { Box::from_raw(mem::transmute::<[usize; 2], *mut HookFunction>(words)) })
}

/// Prints what std's default hook prints. The checker prints it, so that the thread's name gets into nobody's memory.
fn print_default(message: &str, info: &PanicHookInfo<'_>) {
    on_model(|machine| {
        let thread = machine.step.thread;
        let name = machine.execution.threads[thread].display_name();
        let text = match info.location() {
            Some(location) => format!("thread '{name}' panicked at {location}:\n{message}\n"),
            None => format!("thread '{name}' panicked:\n{message}\n"),
        };
        let stream = Stream::Err;
        machine.execution.output.0.push(Output { stream, thread, text });
    });
}

/// `std::panic::set_hook` of the explored program: valid until the end of the execution. Off model threads it is the
/// real one.
pub fn set_hook(hook: Hook) {
    if !on_model_thread() {
        panic::set_hook(hook);
        return;
    }
    drop(take());
    on_model(|machine| machine.execution.hook.0 = Some(hook));
}

/// `std::panic::take_hook` of the explored program. Off model threads it is the real one.
pub fn take_hook() -> Hook {
    if !on_model_thread() {
        return panic::take_hook();
    }
    take().unwrap_or_else(|| Box::new(|info| print_default(info.payload_as_str().unwrap_or(OTHER_PAYLOAD), info)))
}
