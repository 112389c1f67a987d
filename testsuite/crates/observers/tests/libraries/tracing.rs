//! tracing, with the registry of tracing-subscriber.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;
use tracing::{Dispatch, Event, Subscriber, dispatcher, info, info_span};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry::{LookupSpan, Registry};

/// Counts events that are in a span.
struct Inside(Arc<AtomicUsize>);

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Inside {
    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        if context.event_span(event).is_some() {
            self.0.fetch_add(1, SeqCst);
        }
    }
}

#[test]
fn events_of_two_threads_are_counted() {
    let count = Arc::new(AtomicUsize::new(0));
    let dispatch = Dispatch::new(Registry::default().with(Inside(Arc::clone(&count))));
    let child = {
        let dispatch = dispatch.clone();
        thread::spawn(move || {
            dispatcher::with_default(&dispatch, || info_span!("theirs").in_scope(|| info!("event")));
        })
    };
    dispatcher::with_default(&dispatch, || info!("not in a span"));
    child.join().unwrap();
    assert_eq!(count.load(SeqCst), 1);
}

#[test]
fn a_span_is_closed_by_its_last_owner() {
    let dispatch = Dispatch::new(Registry::default());
    let span = dispatcher::with_default(&dispatch, || info_span!("span"));
    let child = {
        let span = span.clone();
        thread::spawn(move || span.in_scope(|| ()))
    };
    drop(span);
    child.join().unwrap();
}
