import { html as escaped } from 'hono/html';

/** HTML that is safe to send: made by `html` alone, which escapes what is put in. */
export interface Html {
  readonly isEscaped: true;
  toString(): string;
}

export type HtmlValue = Html | string | number | false | null | undefined | readonly HtmlValue[];

/** Text and numbers are escaped, lists are joined, `false`, `null` and `undefined` are nothing. */
export const html = escaped as unknown as (
  strings: TemplateStringsArray,
  ...values: HtmlValue[]
) => Html;

/** Nothing. */
export const none: Html = html``;
