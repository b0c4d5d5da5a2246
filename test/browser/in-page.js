/* Runs in the browser, as text: `chromium.ts` calls its functions there. */
({
  /** What is cut off or sticks out sideways, as the page is now. */
  clipped() {
    const found = [];
    const root = document.documentElement;
    const width = root.clientWidth;
    const name = (element) =>
      `<${element.tagName.toLowerCase()} class="${element.getAttribute('class') ?? ''}"> ${JSON.stringify((element.textContent ?? '').trim().slice(0, 40))}`;
    const scrolls = (element) =>
      element !== null &&
      element !== document.body &&
      element !== root &&
      (/auto|scroll/.test(getComputedStyle(element).overflowX) || scrolls(element.parentElement));
    if (root.scrollWidth > width)
      found.push(`the document is ${root.scrollWidth} px wide, not ${width}`);
    for (const element of document.body.querySelectorAll('*')) {
      if (!element.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
      const box = element.getBoundingClientRect();
      // What only a screen reader finds, and a link that shows when it has the focus.
      if (box.width <= 1 || box.height <= 1 || box.bottom + scrollY < 0 || box.right <= 0) continue;
      const { overflowX } = getComputedStyle(element);
      // What stands in a field is scrolled by whoever types there.
      const field = /^(INPUT|TEXTAREA|SELECT)$/.test(element.tagName);
      if (
        !field &&
        /hidden|clip/.test(overflowX) &&
        element.scrollWidth > element.clientWidth + 1
      ) {
        const told = element.closest('[title]') ?? element.querySelector('[title]');
        if (!told) found.push(`cut off within ${element.clientWidth} px: ${name(element)}`);
      }
      if ((box.right > width + 1 || box.left < -1) && !scrolls(element.parentElement))
        found.push(
          `from ${Math.round(box.left)} to ${Math.round(box.right)} px of ${width}: ${name(element)}`,
        );
    }
    return found.slice(0, 6);
  },

  /** What axe-core finds on the page as it is, one line for each kind. */
  async violations() {
    const { violations } = await axe.run(document, { preload: false, resultTypes: ['violations'] });
    return violations.map(({ id, help, nodes }) => {
      const places = nodes
        .slice(0, 3)
        .map(
          (node) =>
            `${node.target.join(' ')} ${node.html.slice(0, 160)} ${node.any[0]?.message ?? ''}`,
        );
      const more = nodes.length > 3 ? ` and ${nodes.length - 3} more` : '';
      return `${id}: ${help}: ${places.join(' | ')}${more}`;
    });
  },

  /** What has the focus. */
  stop(selector) {
    const element = document.activeElement;
    if (!element || element === document.body || element === document.documentElement)
      return { what: 'the page', there: false };
    const label = element.getAttribute('aria-label') ?? element.textContent ?? '';
    const what = `<${element.tagName.toLowerCase()} ${element.getAttribute('name') ?? element.id}> ${JSON.stringify(label.trim().replace(/\s+/g, ' ').slice(0, 40))}`;
    const style = getComputedStyle(element);
    const box = element.getBoundingClientRect();
    const outlined = style.outlineStyle !== 'none' && Number.parseFloat(style.outlineWidth) > 0;
    // A place to jump to, which only scripts and links give the focus to, need not show it.
    const shown =
      outlined || style.boxShadow !== 'none' || element.getAttribute('tabindex') === '-1';
    const inside = box.width > 0 && box.bottom > 0 && box.top < innerHeight && box.right > 0;
    const unseen = shown ? (inside ? undefined : 'is not in sight') : 'nothing shows it';
    return { what, there: element.matches(selector), unseen };
  },

  /** Addresses that the page leads to, on this origin. */
  links() {
    return [...document.querySelectorAll('a[href]')]
      .map(({ href }) => new URL(href))
      .filter(({ origin }) => origin === location.origin)
      .map(({ pathname, search }) => pathname + search);
  },

  /** Opens or shuts every fold. */
  folds(open) {
    for (const fold of document.querySelectorAll('details')) fold.open = open;
  },

  /** What an injected script would have left. */
  ran() {
    return 'ran' in window;
  },
});
