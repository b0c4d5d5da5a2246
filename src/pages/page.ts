import type { OperationId } from '../contract/operations.ts';
import type { Problem } from '../contract/problems.ts';
import type { KeyRow, Reads } from '../ports/store.ts';
import type { Called, CallWith } from './call.ts';
import type { Html, HtmlValue } from './html.ts';

/** Who looks. */
export interface Who {
  /** Of the key that was signed in with; on this machine without sign-in: an admin of the chosen project that has no key. */
  readonly key: KeyRow;
  /** Nobody signed in: what comes from this machine is let in. */
  readonly local: boolean;
  /** Projects that can be switched to without another sign-in, this one with them. */
  readonly projects: readonly string[];
}

export type NavName = 'tasks' | 'task-types' | 'workers' | 'failures' | 'submit' | 'sign-in';

/** What a page shows; the layout is put around it. */
export interface View {
  /** In words, for the title of the window and the heading that the page writes itself. */
  readonly title: string;
  /** Which part of the navigation it belongs to. */
  readonly nav?: NavName;
  readonly main: HtmlValue;
  /** Whether the page is looked at again when something happens: `main` is then swapped in place. */
  readonly live?: boolean;
  /** Looked at again so often, where something changes that no hint tells (progress); default `pageDefaults.refreshMs`. */
  readonly refreshMs?: number | undefined;
  /** Default 200. */
  readonly status?: number;
}

export type PageAnswer =
  | { readonly page: View }
  /** After a form: the address to go to, and what happened in a sentence, which is shown there once. */
  | { readonly seeOther: string; readonly said?: string }
  /** Shown in words, with its code and what to do next. A `Called` that failed is one. */
  | { readonly problem: Problem }
  /** To be kept as a file. */
  | { readonly file: { readonly name: string; readonly type: string; readonly text: string } };

export interface PageRequest {
  readonly who: Who;
  readonly project: string;
  /** Whether the key that looks may make this call: what it may not do is not offered. */
  may(call: OperationId): boolean;
  /** What the path names. */
  readonly params: Readonly<Record<string, string>>;
  /** Path and query, on a host that means nothing. */
  readonly url: URL;
  readonly query: URLSearchParams;
  /** Of a form that was sent; its token and where it came from have been checked. */
  readonly form: URLSearchParams;
  /** By the store's clock, which instants of tasks are told by. */
  readonly nowMs: number;
  /** To be put into each `<form method="post">`. */
  readonly csrf: Html;
  /** A new word that nobody can guess: the idempotency key of a form, so that sent twice it is done once. */
  once(): string;
  /** Aborted when the browser has gone. */
  readonly signal: AbortSignal;
  /** A call of the contract, as the key that looks. */
  call<K extends OperationId>(id: K, call?: CallWith): Promise<Called<K>>;
  /** What the contract has no call for. Whoever reads here keeps to `project`. */
  readonly reads: Reads;
}

/** A page or a form's target: one line in the list of `routes.ts`. */
export interface PageRoute {
  readonly method: 'GET' | 'POST';
  /** With `{name}` for a segment, decoded. */
  readonly path: string;
  /** A form that holds a whole input or result. */
  readonly large?: boolean;
  answer(request: PageRequest): Promise<PageAnswer>;
}
