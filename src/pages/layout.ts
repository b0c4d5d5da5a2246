import { pageDefaults } from '../core/page-defaults.ts';
import { assetAddresses } from './assets.ts';
import { type Html, html, none } from './html.ts';
import { LIVE_PATH } from './live.ts';
import type { NavName, View, Who } from './page.ts';
import { notice } from './parts.ts';

export interface Around {
  readonly who: Who | undefined;
  /** Absent: nobody can sign in here. */
  readonly csrf: Html | undefined;
  /** Path and query of this page, to come back to. */
  readonly here: string;
  /** What the last form did. */
  readonly said?: string | undefined;
}

/** The whole page. What is given is HTML already or is escaped. */
export function layout(view: View, { who, csrf, here, said }: Around): string {
  const live = view.live === true && who !== undefined;
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${view.title} &middot; Interlock Tasks</title>
<link rel="icon" href="${assetAddresses.icon}">
<link rel="stylesheet" href="${assetAddresses.style}">
<script src="${assetAddresses.script}" defer></script>
</head>
<body${live && liveFacts(view, who.key)}>
<a class="skip" href="#main">Skip to the content</a>
<header>
<div class="bar">
<a class="brand" href="/tasks">Interlock Tasks</a>
${who && navigation(view.nav)}
${who ? account(who, csrf, here) : outside(csrf)}
</div>
</header>
<main id="main" tabindex="-1">
${said !== undefined && html`<div role="status">${notice('good', said)}</div>`}
${view.main}
</main>
<footer>
<p id="live-state" role="status" aria-live="polite">${live && html`<noscript>This page does not update itself: scripts are off.</noscript>`}</p>
<p><a href="/failures">What each failure means</a></p>
</footer>
</body>
</html>
`;
  return page.toString();
}

/** Pause and places for the script, which reads them from here. */
function liveFacts(
  { refreshMs = pageDefaults.refreshMs }: View,
  { id, project }: Who['key'],
): Html {
  const { pollMs, gatherMs, reconnectMs } = pageDefaults;
  return html` data-who="${id} ${project}" data-stream="${LIVE_PATH}" data-poll="${pollMs}" data-refresh="${refreshMs}" data-gather="${gatherMs}" data-reconnect="${reconnectMs.min} ${reconnectMs.max}"`;
}

const NAVIGATION: readonly (readonly [NavName, string, string])[] = [
  ['tasks', '/tasks', 'Tasks'],
  ['task-types', '/task-types', 'Task types'],
  ['workers', '/workers', 'Workers'],
  ['submit', '/submit', 'Submit'],
  ['failures', '/failures', 'Failures'],
];

function navigation(current: NavName | undefined): Html {
  const links = NAVIGATION.map(
    ([name, href, words]) =>
      html`<li><a href="${href}"${name === current && html` aria-current="page"`}>${words}</a></li>`,
  );
  return html`<nav aria-label="Main"><ul>${links}</ul></nav>`;
}

function account({ key, local, projects }: Who, csrf: Html | undefined, here: string): Html {
  const others = projects.filter((project) => project !== key.project);
  const options = [key.project, ...others]
    .sort()
    .map(
      (project) =>
        html`<option value="${project}"${project === key.project && html` selected`}>${project}</option>`,
    );
  const chooser =
    others.length === 0
      ? html`<p class="project"><span class="label">Project</span> <bdi>${key.project}</bdi></p>`
      : html`<form class="project" method="post" action="/project">${csrf}<input type="hidden" name="to" value="${here}"><label>Project <select name="project">${options}</select></label> <button>Switch</button></form>`;
  const person = local
    ? html`<p class="who"><span title="Nobody signed in: what comes from this machine acts as an admin of the project.">this machine</span> <a href="/sign-in">Sign in with a key</a></p>`
    : html`<div class="who"><span title="${key.id}, of kind ${key.kind}"><bdi>${key.name}</bdi></span> <a href="/sign-in">Add a project</a> <form method="post" action="/sign-out">${csrf}<button>Sign out</button></form></div>`;
  return html`<div class="account">${chooser}${person}</div>`;
}

function outside(csrf: Html | undefined): Html {
  if (csrf === undefined) return none;
  return html`<nav aria-label="Main"><ul><li><a href="/sign-in">Sign in</a></li></ul></nav>`;
}
