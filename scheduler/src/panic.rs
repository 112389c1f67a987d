//! Panics of the explored program: recorded where they happen, before anything unwinds.

use crate::output::{Stream, print};
use crate::runtime::{on_model, on_model_thread};
use std::panic::{self, PanicHookInfo};
use std::sync::Once;

/// What is said of a panic whose payload is no string.
const OTHER_PAYLOAD: &str = "Box<dyn Any>";

/// A panic hook.
pub type Hook = Box<dyn Fn(&PanicHookInfo<'_>) + Send + Sync + 'static>;

/// What is known of a panic.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PanicRecord {
    /// Its message.
    pub message: String,
    /// File, line and column.
    pub location: Option<(String, u32, u32)>,
}

/// Puts our hook before the one that is installed, once per process.
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
    let name = on_model(|runtime| {
        let record = &mut runtime.threads[runtime.current.index()];
        record.panic = Some(PanicRecord {
            message: message.to_owned(),
            location: info.location().map(|l| (l.file().to_owned(), l.line(), l.column())),
        });
        record.display_name()
    });
    match on_model(|runtime| runtime.user_hook.take()) {
        Some(hook) => {
            hook(info);
            // Unless the hook has set another one.
            on_model(|runtime| match runtime.user_hook {
                Some(_) => std::mem::forget(hook),
                None => runtime.user_hook = Some(hook),
            });
        }
        None => print_default(&name, message, info),
    }
}

/// What std's own hook prints.
fn print_default(name: &str, message: &str, info: &PanicHookInfo<'_>) {
    match info.location() {
        Some(location) => print(
            Stream::Err,
            format_args!("thread '{name}' panicked at {location}:\n{message}\n"),
        ),
        None => print(Stream::Err, format_args!("thread '{name}' panicked:\n{message}\n")),
    }
}

/// `std::panic::set_hook` of the explored program: lasts until the end of the execution. Off model threads the
/// real one.
pub fn set_hook(hook: Hook) {
    if !on_model_thread() {
        panic::set_hook(hook);
        return;
    }
    on_model(|runtime| std::mem::forget(runtime.user_hook.replace(hook)));
}

/// `std::panic::take_hook` of the explored program. Off model threads the real one.
pub fn take_hook() -> Hook {
    if !on_model_thread() {
        return panic::take_hook();
    }
    on_model(|runtime| runtime.user_hook.take()).unwrap_or_else(|| {
        Box::new(|info| {
            let name = on_model(|runtime| runtime.threads[runtime.current.index()].display_name());
            print_default(&name, info.payload_as_str().unwrap_or(OTHER_PAYLOAD), info);
        })
    })
}
