//! Conversions to `Arc`.

use super::{Arc, Draft};
use std::alloc::Layout;
use std::borrow::Cow;
use std::ffi::{CStr, CString, OsStr, OsString};
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::ptr;

impl<T: Default> Default for Arc<T> {
    fn default() -> Arc<T> {
        Arc::new(T::default())
    }
}

impl Default for Arc<str> {
    fn default() -> Arc<str> {
        Arc::from("")
    }
}

impl Default for Arc<CStr> {
    fn default() -> Arc<CStr> {
        Arc::from(c"")
    }
}

impl<T> Default for Arc<[T]> {
    fn default() -> Arc<[T]> {
        Arc::from([])
    }
}

impl<T: ?Sized> Default for Pin<Arc<T>>
where
    Arc<T>: Default,
{
    fn default() -> Pin<Arc<T>> {
        // SAFETY: what a share points to is not moved until it is dropped.
        unsafe { Pin::new_unchecked(Arc::default()) }
    }
}

impl<T> From<T> for Arc<T> {
    fn from(value: T) -> Arc<T> {
        Arc::new(value)
    }
}

impl<T: ?Sized> From<Box<T>> for Arc<T> {
    fn from(value: Box<T>) -> Arc<T> {
        let layout = Layout::for_value(&*value);
        let draft = Draft::new(layout, false);
        let value = Box::into_raw(value);
        // SAFETY: the value moves to the place that was made for it, and the box is freed without it.
        unsafe {
            ptr::copy_nonoverlapping(value.cast(), draft.data.as_ptr(), layout.size());
            let arc = draft.finish_like(value);
            drop(Box::from_raw(value as *mut ManuallyDrop<T>));
            arc
        }
    }
}

impl<T, const N: usize> From<[T; N]> for Arc<[T]> {
    fn from(items: [T; N]) -> Arc<[T]> {
        Arc::<[T; N]>::new(items)
    }
}

impl<T> From<Vec<T>> for Arc<[T]> {
    fn from(mut items: Vec<T>) -> Arc<[T]> {
        let length = items.len();
        let draft = Draft::slice::<T>(length, false);
        // SAFETY: the items move to the place that was made for them, and the vector is freed without them.
        unsafe {
            ptr::copy_nonoverlapping(items.as_ptr(), draft.data.as_ptr().cast(), length);
            items.set_len(0);
            draft.finish_slice(length)
        }
    }
}

impl<T> FromIterator<T> for Arc<[T]> {
    fn from_iter<I: IntoIterator<Item = T>>(iter: I) -> Arc<[T]> {
        iter.into_iter().collect::<Vec<T>>().into()
    }
}

impl<T: Clone> From<&[T]> for Arc<[T]> {
    fn from(items: &[T]) -> Arc<[T]> {
        items.to_vec().into()
    }
}

impl From<&str> for Arc<str> {
    fn from(text: &str) -> Arc<str> {
        Box::<str>::from(text).into()
    }
}

impl From<String> for Arc<str> {
    fn from(text: String) -> Arc<str> {
        Arc::from(&*text)
    }
}

impl From<&CStr> for Arc<CStr> {
    fn from(text: &CStr) -> Arc<CStr> {
        Box::<CStr>::from(text).into()
    }
}

impl From<CString> for Arc<CStr> {
    fn from(text: CString) -> Arc<CStr> {
        text.into_boxed_c_str().into()
    }
}

impl From<&OsStr> for Arc<OsStr> {
    fn from(text: &OsStr) -> Arc<OsStr> {
        Box::<OsStr>::from(text).into()
    }
}

impl From<OsString> for Arc<OsStr> {
    fn from(text: OsString) -> Arc<OsStr> {
        text.into_boxed_os_str().into()
    }
}

impl From<&Path> for Arc<Path> {
    fn from(path: &Path) -> Arc<Path> {
        Box::<Path>::from(path).into()
    }
}

impl From<PathBuf> for Arc<Path> {
    fn from(path: PathBuf) -> Arc<Path> {
        path.into_boxed_path().into()
    }
}

macro_rules! from_mutable {
    ($($target:ty)*) => {
        $(impl From<&mut $target> for Arc<$target> {
            fn from(value: &mut $target) -> Self {
                Arc::from(&*value)
            }
        })*
    };
}

from_mutable! { str CStr OsStr Path }

impl<T: Clone> From<&mut [T]> for Arc<[T]> {
    fn from(items: &mut [T]) -> Arc<[T]> {
        Arc::from(&*items)
    }
}

impl<'a, B> From<Cow<'a, B>> for Arc<B>
where
    B: ToOwned + ?Sized,
    Arc<B>: From<&'a B> + From<<B as ToOwned>::Owned>,
{
    fn from(value: Cow<'a, B>) -> Arc<B> {
        match value {
            Cow::Borrowed(value) => Arc::from(value),
            Cow::Owned(value) => Arc::from(value),
        }
    }
}

impl From<Arc<str>> for Arc<[u8]> {
    fn from(text: Arc<str>) -> Arc<[u8]> {
        // SAFETY: a string has the layout of its bytes, and they are valid for any use of a shared slice.
        unsafe { Arc::from_raw(Arc::into_raw(text) as *const [u8]) }
    }
}

impl<T, const N: usize> TryFrom<Arc<[T]>> for Arc<[T; N]> {
    type Error = Arc<[T]>;

    fn try_from(items: Arc<[T]>) -> Result<Arc<[T; N]>, Arc<[T]>> {
        if items.len() == N {
            // SAFETY: a slice of this length has the layout of the array.
            Ok(unsafe { Arc::from_raw(Arc::into_raw(items).cast()) })
        } else {
            Err(items)
        }
    }
}
