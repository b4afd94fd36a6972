// What is wrong with how this page lies in its window, or with its colours alone: a list of sentences, empty if nothing
// is.
coloursAlone => {
  const faults = [];
  const width = window.screen.width < 600 ? window.screen.width : document.documentElement.clientWidth;
  const root = document.documentElement;
  if (root.scrollWidth > width) faults.push(`the page is ${root.scrollWidth} wide in a window of ${width}`);
  // A telephone zooms out when something is too wide, and then says that all is well.
  if (window.screen.width < 600 && window.innerWidth !== width) faults.push(`the window became ${window.innerWidth} wide`);
  const name = e => `${e.tagName.toLowerCase()}${e.id ? '#' + e.id : ''}.${e.getAttribute('class') || ''} '${(e.textContent || '').trim().slice(0, 40)}'`;
  const scrolls = e => { const x = getComputedStyle(e).overflowX; return x === 'auto' || x === 'scroll'; };
  // Styles are slow to ask for: what depends on the elements around one is found once for each.
  const once = find => { const known = new Map(); return e => { if (!known.has(e)) known.set(e, find(e)); return known.get(e); }; };
  const inScroller = once(e => { const p = e.parentElement; return p !== null && (scrolls(p) || inScroller(p)); });
  const hidden = '.skip, thead, thead *, title';
  for (const e of coloursAlone ? [] : document.querySelectorAll('body *')) {
    if (e.matches(hidden) || !e.checkVisibility()) continue;
    const r = e.getBoundingClientRect();
    if (r.width === 0 || r.height === 0) continue;
    if (e.ownerSVGElement) {
      if (e.tagName !== 'text') continue;
      const s = e.ownerSVGElement.getBoundingClientRect();
      if (r.left < s.left - 1 || r.right > s.right + 1 || r.top < s.top - 1 || r.bottom > s.bottom + 1) faults.push(`cut in its drawing: ${name(e)}`);
      const box = e.parentElement.querySelector(':scope > rect.host');
      const b = box && box.getBoundingClientRect();
      if (b && (r.left < b.left || r.right > b.right)) faults.push(`wider than its box: ${name(e)}`);
      continue;
    }
    // An item that holds a list of its own is as long as that list; the list's items are looked at by themselves.
    if (e.matches('td, th, dd, dt, p, li') && !e.querySelector('dl, ul, ol') && r.height > 60 && r.height > 3 * r.width) faults.push(`crushed to ${r.width} by ${r.height}: ${name(e)}`);
    if (inScroller(e)) continue;
    if (r.right > width + 0.5 || r.left < -0.5) faults.push(`from ${r.left} to ${r.right} in a window of ${width}: ${name(e)}`);
    const x = getComputedStyle(e).overflowX;
    if ((x === 'hidden' || x === 'clip') && e.scrollWidth > e.clientWidth + 1) faults.push(`cut: ${name(e)}`);
  }

  // Text over text: the lines of every two texts keep clear of each other, in drawings and out of them.
  const lines = [], slanted = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const e = node.parentElement;
    if (!node.data.trim() || e.closest('.skip, title, style, script') || !e.checkVisibility({ contentVisibilityAuto: true })) continue;
    // On a telephone the heads of tables are kept for screen readers alone.
    if (e.closest('thead') && getComputedStyle(e.closest('thead')).position === 'absolute') continue;
    if (e.hasAttribute('transform')) { slanted.push(e); continue; }
    range.selectNodeContents(node);
    for (const r of range.getClientRects()) if (r.width > 0 && r.height > 0) lines.push({ e, r });
  }
  const places = coloursAlone ? [] : lines.toSorted((a, b) => a.r.top - b.r.top);
  // Lines of one paragraph may share a hair; a raised mark stands beside its number.
  const HAIR = 3;
  for (let i = 0; i < places.length; i++) {
    const a = places[i];
    for (let j = i + 1; j < places.length && places[j].r.top < a.r.bottom - HAIR; j++) {
      const b = places[j];
      const across = Math.min(a.r.right, b.r.right) - Math.max(a.r.left, b.r.left);
      const down = Math.min(a.r.bottom, b.r.bottom) - b.r.top;
      if (across > HAIR && down > HAIR && !inScroller(a.e) === !inScroller(b.e)) faults.push(`over each other: ${name(a.e)} and ${name(b.e)}`);
    }
  }
  // Slanted names lie beside each other: what counts is how far apart their lines are.
  for (let i = 1; i < slanted.length; i++) {
    const [a, b] = [slanted[i - 1], slanted[i]];
    if (a.ownerSVGElement !== b.ownerSVGElement) continue;
    const m = a.getScreenCTM(), n = b.getScreenCTM();
    const length = Math.hypot(m.a, m.b);
    const apart = Math.abs((n.e - m.e) * m.b - (n.f - m.f) * m.a) / length;
    if (apart < 0.75 * parseFloat(getComputedStyle(a).fontSize) * length) faults.push(`over each other: ${name(a)} and ${name(b)}`);
  }

  // Text stands out from what is behind it by 4.5 to 1, curves and bars by 3 to 1 (WCAG 2.2, 1.4.3 and 1.4.11).
  const colour = text => { const c = text.match(/[\d.]+/g).map(Number); return { rgb: c.slice(0, 3), alpha: c.length > 3 ? c[3] : 1 }; };
  const light = ([r, g, b]) => { const f = v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; return 0.2126 * f(r) + 0.7152 * f(g) + 0.0722 * f(b); };
  const contrast = (a, b) => { const [x, y] = [light(a), light(b)]; return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05); };
  const behind = once(e => {
    const c = colour(getComputedStyle(e).backgroundColor);
    if (c.alpha > 0) return c.rgb;
    if (e.parentElement) return behind(e.parentElement);
    return matchMedia('(prefers-color-scheme: dark)').matches && !matchMedia('print').matches ? [18, 18, 18] : [255, 255, 255];
  });
  const seen = new Set();
  const stand = (e, of, least) => {
    const text = getComputedStyle(e)[of];
    const back = behind(e.ownerSVGElement || e);
    const key = `${text} on ${back}`;
    if (text === 'none' || seen.has(key + least)) return;
    seen.add(key + least);
    const found = contrast(colour(text).rgb, back);
    if (found < least) faults.push(`too faint, ${found.toFixed(2)} to 1, ${key}: ${name(e)}`);
  };
  for (const { e } of lines) stand(e, e.ownerSVGElement ? 'fill' : 'color', 4.5);
  for (const e of document.querySelectorAll('path.ours, path.error, .wire')) stand(e, 'stroke', 3);
  for (const e of document.querySelectorAll('.bar, .full, .arrow')) stand(e, 'fill', 3);
  return faults;
}
