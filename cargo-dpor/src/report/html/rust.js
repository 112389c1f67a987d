const isRust = at => Boolean(at && at.file.endsWith(".rs"));
const KEYWORDS = new Set(("as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move mut pub ref return self Self " +
  "static struct super trait true type unsafe use where while").split(" "));
/** Comments, strings and characters, lifetimes and attributes, numbers, macros, words. */
const TOKENS = /(\/\/[^\n]*|\/\*[^]*?(?:\*\/|$))|(\b[bc]?r(#*)"[^]*?"\3|(?:\b[bc])?"(?:\\[^]|[^"\\])*"?|b?'(?:\\(?:u\{[^}]*\}|x..|[^])|[^'\\\n])')|('[A-Za-z_]\w*|#!?\[[^\]\n]*\])|(\b\d\w*(?:\.\d\w*)?)|([A-Za-z_]\w*!(?!=))|([A-Za-z_]\w*)/g;
/** The lines of a text, each as pieces for `make`: in the colours of Rust, or as they are. */
function coloured(text, rust) {
  const lines = [[]];
  const put = (piece, kind) => piece.split("\n").forEach((part, i) => {
    if (i > 0) lines.push([]);
    if (part) lines[lines.length - 1].push(kind ? make("span", { class: kind }, part) : part);
  });
  let done = 0;
  for (const token of rust ? text.matchAll(TOKENS) : []) {
    const [all, comment, string, , mark, number, macro, word] = token;
    const kind = comment ? "c" : string ? "s" : mark ? "m" : number ? "n" : macro ? "m" : KEYWORDS.has(word) ? "k" : /^[A-Z]/.test(word) ? "y" : null;
    put(text.slice(done, token.index));
    put(all, kind);
    done = token.index + all.length;
  }
  put(text.slice(done));
  return lines;
}

