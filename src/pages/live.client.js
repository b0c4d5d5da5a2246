/*
 * Keeps a page up to date: hints say that something happened, the page is then read again and what changed is put in place.
 * Folds that are open, what has the focus, what was typed and where one is stay as they are. Without this the pages work too.
 */
(() => {
  const { who, stream, poll, refresh, gather, reconnect } = document.body.dataset;
  const state = document.getElementById('live-state');
  if (!stream || !state || !window.fetch || !window.DOMParser) return;
  const [soonest, latest] = (reconnect || '1000 10000').split(' ').map(Number);

  let source;
  let open = false;
  let over = false;
  let reading = false;
  let again = false;
  let gathering;
  let nextLook;
  let reopening;
  let failures = 0;
  /** What the last look was refused with, a word of `WORDS`: a connection that stands does not make the page a fresh one. */
  let refusal;
  /** As a refusal said (`Retry-After`). */
  let notBefore = 0;
  let lookedAt = 0;

  const WORDS = {
    live: 'Live: changes show by themselves.',
    polling: 'No live connection: looked at again every few seconds.',
    lost: 'The control plane cannot be reached; trying again. What you see is from before.',
    denied: 'You may not see this page any more. What you see is from before.',
    gone: 'What this page shows is not there any more. What you see is from before.',
    busy: 'The control plane has had too many requests; trying again. What you see is from before.',
    failing:
      'The control plane answers, but not with this page; trying again. What you see is from before.',
    out: 'You are signed out. ',
    other:
      'You have signed in, signed out or switched projects in another tab: this page shows what was before. ',
  };

  /** What an answer means that is no page. */
  const REFUSALS = { 403: 'denied', 404: 'gone', 410: 'gone', 429: 'busy' };

  /** What ends the updates, and the words of the link that goes on. */
  const NEXT = { out: 'Sign in again', other: 'Load it anew' };

  /** Said once for each change; a connection that comes back at once is not worth a word. */
  function say(name) {
    if (state.dataset.state === name || over) return;
    state.dataset.state = name;
    state.textContent = WORDS[name];
    const next = NEXT[name];
    if (!next) return;
    over = true;
    close();
    const here = location.pathname + location.search;
    const link = document.createElement('a');
    link.href = name === 'out' ? `/sign-in?to=${encodeURIComponent(here)}` : here;
    link.textContent = next;
    state.append(link);
  }

  function connect() {
    clearTimeout(reopening);
    if (over || source || document.hidden) return;
    if (!window.EventSource) return;
    source = new EventSource(stream);
    const mine = source;
    mine.addEventListener('ping', () => {
      if (mine !== source) return;
      const late = !open;
      open = true;
      failures = 0;
      say(refusal ?? 'live');
      // Something may have happened while nobody listened.
      if (late) look();
    });
    mine.addEventListener('task', soon);
    mine.addEventListener('error', () => {
      if (mine !== source) return;
      const refused = !open;
      close();
      // By chance, so that not all come back at once.
      const most = Math.min(latest, soonest * 2 ** failures++);
      reopening = setTimeout(connect, soonest / 2 + Math.random() * most);
      // The page says why: nobody is signed in any more, or nothing answers.
      if (refused && failures === 2) look();
      else later();
    });
  }

  function close() {
    clearTimeout(reopening);
    source?.close();
    source = undefined;
    open = false;
  }

  function later() {
    clearTimeout(nextLook);
    if (!over && !document.hidden)
      nextLook = setTimeout(look, Math.max(Number(open ? refresh : poll), notBefore - Date.now()));
  }

  /** At once after a quiet time; hints that come together cause one look. */
  function soon() {
    const ms = Date.now() - lookedAt > 1000 ? 20 : Number(gather);
    gathering ??= setTimeout(look, Math.max(ms, notBefore - Date.now()));
  }

  /** Reads the page again. One at a time; what is asked for meanwhile is one more look. */
  async function look() {
    clearTimeout(gathering);
    gathering = undefined;
    if (over) return;
    if (reading) {
      again = true;
      return;
    }
    reading = true;
    lookedAt = Date.now();
    try {
      const answer = await fetch(location.pathname + location.search, {
        headers: { Accept: 'text/html', 'Interlock-Update': '1' },
        credentials: 'same-origin',
        cache: 'no-store',
        redirect: 'error',
        signal: AbortSignal.timeout(15000),
      });
      if (answer.status === 401) say('out');
      else if (answer.ok) {
        const fresh = new DOMParser().parseFromString(await answer.text(), 'text/html');
        if (fresh.body.dataset.who !== who) return say('other');
        put(fresh);
        refusal = undefined;
        say(open ? 'live' : 'polling');
      } else {
        refusal = REFUSALS[answer.status] ?? 'failing';
        say(refusal);
        notBefore = Date.now() + 1000 * (Number(answer.headers.get('Retry-After')) || 0);
      }
    } catch {
      refusal = undefined;
      say('lost');
    }
    reading = false;
    if (again) {
      again = false;
      soon();
    }
    later();
  }

  function put(fresh) {
    const [old, now] = [document.getElementById('main'), fresh.getElementById('main')];
    if (!old || !now) return;
    document.title = fresh.title;
    const at = [window.scrollX, window.scrollY];
    children(old, now);
    if (window.scrollY !== at[1]) window.scrollTo(...at);
  }

  /** Makes `old` as `now` is, with as few changes as can be: what stays the same is not touched. */
  function same(old, now) {
    if (old.nodeType !== 1) {
      if (old.nodeValue !== now.nodeValue) old.nodeValue = now.nodeValue;
      return;
    }
    if (old.isEqualNode(now) || old.hasAttribute('data-keep')) return;
    // The person's: which folds are open, what stands in fields.
    const theirs = old.tagName === 'DETAILS' ? ['open'] : isField(old) ? ['value', 'checked'] : [];
    for (const { name } of [...old.attributes])
      if (!now.hasAttribute(name) && !theirs.includes(name)) old.removeAttribute(name);
    for (const { name, value } of now.attributes)
      if (!theirs.includes(name) && old.getAttribute(name) !== value) old.setAttribute(name, value);
    if (old.tagName === 'TEXTAREA' || (old.tagName === 'SELECT' && old === document.activeElement))
      return;
    // A hidden field is ours.
    if (old.tagName === 'INPUT' && old.type === 'hidden') old.value = now.value;
    children(old, now);
  }

  function children(old, now) {
    const byId = new Map();
    for (const child of old.children) if (child.id) byId.set(child.id, child);
    const kept = new Set([...now.children].map(({ id }) => id).filter(Boolean));
    let place = old.firstChild;
    for (const next of [...now.childNodes]) {
      // What is gone makes room, so that what comes after it is compared with its like.
      while (place && place.nodeType === 1 && place.id && !kept.has(place.id)) {
        const gone = place;
        place = place.nextSibling;
        gone.remove();
      }
      const own = next.nodeType === 1 && next.id ? byId.get(next.id) : undefined;
      if (own && own.tagName === next.tagName) {
        if (own === place) place = place.nextSibling;
        else old.insertBefore(own, place);
        same(own, next);
      } else if (!own && place && alike(place, next)) {
        const here = place;
        place = place.nextSibling;
        same(here, next);
      } else {
        const added = document.importNode(next, true);
        if (added.nodeType === 1 && added.id) added.classList.add('fresh');
        old.insertBefore(added, place);
      }
    }
    while (place) {
      const gone = place;
      place = place.nextSibling;
      gone.remove();
    }
  }

  function alike(a, b) {
    return a.nodeType === b.nodeType && a.nodeName === b.nodeName && !a.id && !b.id;
  }

  function isField({ tagName }) {
    return tagName === 'INPUT' || tagName === 'TEXTAREA' || tagName === 'OPTION';
  }

  // A browser opens six connections to one place: pages that nobody sees leave theirs to others.
  document.addEventListener('visibilitychange', () => {
    if (document.hidden) {
      close();
      clearTimeout(nextLook);
    } else {
      look();
      connect();
    }
  });
  // A page that is shown again after "back" may be old, and its session over.
  window.addEventListener('pageshow', ({ persisted }) => {
    if (persisted) look();
  });
  window.addEventListener('pagehide', close);

  connect();
  later();
})();

/* Buttons that copy a text of the page. Without scripts they are not there: it is marked and copied as any text is. */
(() => {
  document.documentElement.classList.add('scripted');
  document.addEventListener('click', async ({ target }) => {
    const button = target.closest?.('button[data-copy]');
    const from = button && document.getElementById(button.dataset.copy);
    if (!from) return;
    const marked = document.createRange();
    marked.selectNodeContents(from);
    getSelection().removeAllRanges();
    getSelection().addRange(marked);
    let done = false;
    try {
      // Browsers have a clipboard for pages of this machine and behind TLS; elsewhere the old way works mostly.
      if (navigator.clipboard) {
        await navigator.clipboard.writeText(from.textContent);
        done = true;
      } else done = document.execCommand('copy');
    } catch {
      // The text is marked: a key copies it.
    }
    button.textContent = done ? 'Copied' : 'Marked: press Ctrl+C';
  });
})();
