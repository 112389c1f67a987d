//! Traits that an `Arc` has because its value has them.

use super::{Arc, Inner, Weak};
use std::borrow::Borrow;
use std::cmp::Ordering;
use std::error::Error;
use std::fmt;
use std::fs::File;
use std::hash::{Hash, Hasher};
use std::io::{self, IoSlice, IoSliceMut, Read, Seek, SeekFrom, Write};
use std::marker::Unsize;
use std::ops::{CoerceUnsized, DispatchFromDyn, LegacyReceiver};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::pin::PinCoerceUnsized;

// SAFETY: shares in several threads give out shared references, and the last one, anywhere, the value.
unsafe impl<T: ?Sized + Sync + Send> Send for Arc<T> {}
// SAFETY: as above, since a shared share can be cloned.
unsafe impl<T: ?Sized + Sync + Send> Sync for Arc<T> {}
// SAFETY: a weak pointer can become a share.
unsafe impl<T: ?Sized + Sync + Send> Send for Weak<T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Sync + Send> Sync for Weak<T> {}
// SAFETY: nobody has one but through the above.
unsafe impl<T: ?Sized + Sync + Send> Send for Inner<T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Sync + Send> Sync for Inner<T> {}

impl<T: RefUnwindSafe + ?Sized> UnwindSafe for Arc<T> {}
impl<T: ?Sized> Unpin for Arc<T> {}

impl<T: ?Sized + Unsize<U>, U: ?Sized> CoerceUnsized<Arc<U>> for Arc<T> {}
impl<T: ?Sized + Unsize<U>, U: ?Sized> CoerceUnsized<Weak<U>> for Weak<T> {}
impl<T: ?Sized + Unsize<U>, U: ?Sized> DispatchFromDyn<Arc<U>> for Arc<T> {}
impl<T: ?Sized + Unsize<U>, U: ?Sized> DispatchFromDyn<Weak<U>> for Weak<T> {}
impl<T: ?Sized> LegacyReceiver for Arc<T> {}
// SAFETY: an `Arc` points to the same value before and after it is coerced.
unsafe impl<T: ?Sized> PinCoerceUnsized for Arc<T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized> PinCoerceUnsized for Weak<T> {}

impl<T: ?Sized> AsRef<T> for Arc<T> {
    fn as_ref(&self) -> &T {
        self
    }
}

impl<T: ?Sized> Borrow<T> for Arc<T> {
    fn borrow(&self) -> &T {
        self
    }
}

impl<T: ?Sized + PartialEq> PartialEq for Arc<T> {
    #[inline]
    #[track_caller]
    fn eq(&self, other: &Arc<T>) -> bool {
        **self == **other
    }

    #[inline]
    #[track_caller]
    #[expect(clippy::partialeq_ne_impl, reason = "the value's own")]
    fn ne(&self, other: &Arc<T>) -> bool {
        **self != **other
    }
}

impl<T: ?Sized + Eq> Eq for Arc<T> {}

impl<T: ?Sized + PartialOrd> PartialOrd for Arc<T> {
    fn partial_cmp(&self, other: &Arc<T>) -> Option<Ordering> {
        (**self).partial_cmp(&**other)
    }

    fn lt(&self, other: &Arc<T>) -> bool {
        **self < **other
    }

    fn le(&self, other: &Arc<T>) -> bool {
        **self <= **other
    }

    fn gt(&self, other: &Arc<T>) -> bool {
        **self > **other
    }

    fn ge(&self, other: &Arc<T>) -> bool {
        **self >= **other
    }
}

impl<T: ?Sized + Ord> Ord for Arc<T> {
    fn cmp(&self, other: &Arc<T>) -> Ordering {
        (**self).cmp(&**other)
    }
}

impl<T: ?Sized + Hash> Hash for Arc<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for Arc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&**self, f)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Arc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl<T: ?Sized> fmt::Pointer for Arc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Pointer::fmt(&Arc::as_ptr(self), f)
    }
}

impl<T: Error + ?Sized> Error for Arc<T> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        (**self).source()
    }

    #[expect(deprecated, reason = "std's item")]
    fn cause(&self) -> Option<&dyn Error> {
        (**self).cause()
    }
}

impl<T: AsFd + ?Sized> AsFd for Arc<T> {
    #[inline]
    fn as_fd(&self) -> BorrowedFd<'_> {
        (**self).as_fd()
    }
}

impl<T: AsRawFd> AsRawFd for Arc<T> {
    #[inline]
    fn as_raw_fd(&self) -> RawFd {
        (**self).as_raw_fd()
    }
}

impl Read for Arc<File> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        (&**self).read(buf)
    }

    fn read_vectored(&mut self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        (&**self).read_vectored(bufs)
    }

    fn read_to_end(&mut self, buf: &mut Vec<u8>) -> io::Result<usize> {
        (&**self).read_to_end(buf)
    }

    fn read_to_string(&mut self, buf: &mut String) -> io::Result<usize> {
        (&**self).read_to_string(buf)
    }
}

impl Write for Arc<File> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        (&**self).write(buf)
    }

    fn write_vectored(&mut self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        (&**self).write_vectored(bufs)
    }

    #[inline]
    fn flush(&mut self) -> io::Result<()> {
        (&**self).flush()
    }
}

impl Seek for Arc<File> {
    fn seek(&mut self, pos: SeekFrom) -> io::Result<u64> {
        (&**self).seek(pos)
    }
}
