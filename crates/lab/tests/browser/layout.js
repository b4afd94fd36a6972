// What is wrong with how this page lies in its window: a list of sentences, empty if nothing is.
(() => {
  const faults = [];
  const width = window.screen.width < 600 ? window.screen.width : document.documentElement.clientWidth;
  const root = document.documentElement;
  if (root.scrollWidth > width) faults.push(`the page is ${root.scrollWidth} wide in a window of ${width}`);
  // A telephone zooms out when something is too wide, and then says that all is well.
  if (window.screen.width < 600 && window.innerWidth !== width) faults.push(`the window became ${window.innerWidth} wide`);
  const name = e => `${e.tagName.toLowerCase()}${e.id ? '#' + e.id : ''}.${e.getAttribute('class') || ''} '${(e.textContent || '').trim().slice(0, 40)}'`;
  const scrolls = e => { const x = getComputedStyle(e).overflowX; return x === 'auto' || x === 'scroll'; };
  const inScroller = e => { for (let p = e.parentElement; p; p = p.parentElement) if (scrolls(p)) return true; return false; };
  for (const e of document.querySelectorAll('body *')) {
    if (e.matches('.skip, thead, thead *, title')) continue;
    const r = e.getBoundingClientRect();
    if (r.width === 0 || r.height === 0) continue;
    if (e.ownerSVGElement) {
      if (e.tagName !== 'text') continue;
      const s = e.ownerSVGElement.getBoundingClientRect();
      if (r.left < s.left - 1 || r.right > s.right + 1 || r.top < s.top - 1 || r.bottom > s.bottom + 1) faults.push(`cut in its drawing: ${name(e)}`);
      continue;
    }
    if (e.matches('td, th, dd, dt, p, li') && r.height > 60 && r.height > 3 * r.width) faults.push(`crushed to ${r.width} by ${r.height}: ${name(e)}`);
    if (inScroller(e)) continue;
    if (r.right > width + 0.5 || r.left < -0.5) faults.push(`from ${r.left} to ${r.right} in a window of ${width}: ${name(e)}`);
    const x = getComputedStyle(e).overflowX;
    if ((x === 'hidden' || x === 'clip') && e.scrollWidth > e.clientWidth + 1) faults.push(`cut: ${name(e)}`);
  }
  return faults;
})()
