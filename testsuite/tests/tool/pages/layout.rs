//! Checks by the geometry of the page what is in view, and what covers what.

use super::browser::Browser;
use serde_json::json;

/// The window that a page is made for.
const WIDE: (u32, u32) = (1280, 900);
/// A column beside an editor.
const NARROW: (u32, u32) = (500, 900);

/// Texts of which some part cannot be seen, though nothing scrolls to it: outside of the page, or cut off. If it is
/// strict, what one has to scroll to is among them, and so are the long rows of the tree, which are told in full beside
/// it where there is room.
const CLIPPED: &str = r"(() => {
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), clipped = [];
  const scrolls = how => how === 'auto' || how === 'scroll';
  for (let text; (text = texts.nextNode());) {
    const node = text.parentElement;
    if (!text.data.trim() || node.closest(STRICT ? 'script, .gone' : 'script, .gone, .run')) continue;
    if (node.getClientRects().length === 0) continue;
    const range = document.createRange();
    range.selectNodeContents(text);
    for (const r of range.getClientRects()) {
      let [left, right] = [0, document.documentElement.clientWidth];
      for (let at = node; at; at = at.parentElement) {
        const style = getComputedStyle(at);
        if (style.overflowX === 'visible') continue;
        const frame = at.getBoundingClientRect();
        if (scrolls(style.overflowX) && at.scrollWidth > at.clientWidth && !STRICT) {
          [left, right] = [-Infinity, Infinity];
          break;
        }
        [left, right] = [Math.max(left, frame.left), Math.min(right, frame.right)];
      }
      if (r.left < left - 1 || r.right > right + 1) { clipped.push(text.data); break; }
    }
  }
  return clipped;
})()";

/// The elements of a selector that are not wholly in the window, or scrolled out of a part of it that scrolls.
const HIDDEN: &str = r"[...document.querySelectorAll(SELECTOR)].filter(node => {
  const r = node.getBoundingClientRect();
  let frame = { top: 0, bottom: innerHeight };
  for (let at = node.parentElement; at; at = at.parentElement) {
    if (getComputedStyle(at).overflowY === 'visible') continue;
    const own = at.getBoundingClientRect();
    frame = { top: Math.max(frame.top, own.top), bottom: Math.min(frame.bottom, own.bottom) };
  }
  return r.height === 0 || r.top < frame.top - 1 || r.bottom > frame.bottom + 1;
}).map(node => node.textContent)";

/// Texts of steps that an arrow goes through.
const CROSSED: &str = r"(() => {
  const frame = document.getElementById('arrows').getBoundingClientRect(), crossed = [], boxes = [];
  const texts = document.createTreeWalker(document.querySelector('#lanes tbody'), NodeFilter.SHOW_TEXT);
  for (let text; (text = texts.nextNode());) {
    // What has a ground of its own before the arrows hides them.
    if (text.parentElement.closest('.whole')) continue;
    const range = document.createRange();
    range.selectNodeContents(text);
    for (const r of range.getClientRects()) boxes.push([r, text.data]);
  }
  for (const path of document.querySelectorAll('#arrows > path')) {
    for (let at = 0; at <= path.getTotalLength(); at++) {
      const { x, y } = path.getPointAtLength(at), [left, top] = [x + frame.left, y + frame.top];
      for (const [r, text] of boxes) {
        if (left > r.left && left < r.right && top > r.top && top < r.bottom) crossed.push(text);
      }
    }
  }
  return [...new Set(crossed)];
})()";

/// Nothing is cut off in a narrow window, and no line has to be scrolled to be read.
pub fn narrow(browser: &mut Browser, address: &str) {
    browser.resize(NARROW.0, NARROW.1);
    let clipped = browser.value(&CLIPPED.replace("STRICT", "true"));
    assert_eq!(clipped, json!([]), "not to be seen at {NARROW:?} on {address}");
    let fits = browser.value("document.documentElement.scrollWidth <= innerWidth");
    assert_eq!(fits, true, "the page at {NARROW:?} is wider than that: {address}");
    browser.resize(WIDE.0, WIDE.1);
}

/// In a window of the usual size the selected step and who waits are in view from the start and wherever one goes, and
/// arrows leave the text alone.
pub fn wide(browser: &mut Browser, address: &str) {
    browser.resize(WIDE.0, WIDE.1);
    browser.open(address);
    let clipped = browser.value(&CLIPPED.replace("STRICT", "false"));
    assert_eq!(clipped, json!([]), "not to be seen at {WIDE:?} on {address}");
    if browser.value("document.getElementById('lanes') === null") == true {
        return;
    }
    let hidden =
        |browser: &mut Browser, selector: &str| browser.value(&HIDDEN.replace("SELECTOR", &format!("'{selector}'")));
    for key in ["", "Home", "End", "p", "d"] {
        if !key.is_empty() {
            browser.press(&[key]);
        }
        for selector in ["#lanes tr.here", "#waits tr", "#source .here"] {
            let hidden = hidden(browser, selector);
            assert_eq!(hidden, json!([]), "{selector} after {key:?} at {WIDE:?} on {address}");
        }
        assert_eq!(browser.value("document.querySelectorAll('#lanes tr.here').length"), 1);
    }
    let crossed = browser.value(CROSSED);
    assert_eq!(crossed, json!([]), "arrows go through text on {address}");
}
