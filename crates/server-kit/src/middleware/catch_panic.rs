//! Panics of handlers. A defect in one request ends that request, not the connection and not the server.

use std::any::Any;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Poll;

/// Awaits `future`; when it panics, returns what `instead` makes of the panic text. That text is for the log, never for
/// the client.
pub async fn catch_panic<T>(future: impl Future<Output = T> + Send, instead: impl FnOnce(String) -> T) -> T {
    let mut future = Box::pin(future);
    // What a panic left half done is dropped with the request.
    let outcome = poll_fn(|context| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
        Ok(polled) => polled.map(Ok),
        Err(panic) => Poll::Ready(Err(panic_text(panic.as_ref()))),
    });
    outcome.await.unwrap_or_else(instead)
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let owned = panic.downcast_ref::<String>().map(String::as_str);
    owned.or_else(|| panic.downcast_ref::<&'static str>().copied()).unwrap_or("no text").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_becomes_its_text_and_a_result_stays_itself() {
        let text = |text: String| text;
        assert_eq!(catch_panic(async { "fine".to_owned() }, text).await, "fine");
        assert_eq!(catch_panic(async { panic!("a defect") }, text).await, "a defect");
        assert_eq!(catch_panic(async { panic!("defect {}", 7) }, text).await, "defect 7");
        assert_eq!(catch_panic(async { std::panic::panic_any(7) }, text).await, "no text");
    }
}
