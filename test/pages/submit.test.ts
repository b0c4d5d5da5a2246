import { beforeEach, describe, expect, it } from 'vitest';
import { Garage, SCRIPT, textOf } from './garage.ts';

let garage: Garage;
beforeEach(async () => {
  garage = await Garage.open();
});
const HELLO = 'type=demo%2Fhello&schemaVersion=1';
const inputSchema = {
  type: 'object',
  required: ['name'],
  properties: {
    name: { type: 'string', title: 'Who', description: 'To be greeted', maxLength: 10 },
    times: { type: 'integer', minimum: 1, maximum: 9, default: 1 },
    loud: { type: 'boolean' },
    size: { enum: ['small', 'large'] },
    list: { type: 'array' },
  },
};
const present = (schema: unknown = inputSchema) =>
  garage.present('attic', {
    handlers: [{ type: 'demo/hello', schemaVersion: 1, effectSafety: 'pure', inputSchema: schema }],
  });
const page = async (path: string) => {
  const shown = await garage.visitor.get(path);
  return { ...shown, words: textOf(shown.text) };
};
/** What the hidden fields of a shown form hold. */
const hidden = (text: string) =>
  Object.fromEntries(
    [...text.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)">/g)].map(
      ([, name = '', value = '']) => [name, value],
    ),
  );
const send = async (fields: Record<string, string>, path = `/submit?${HELLO}`) => {
  const { token = '', ...rest } = hidden((await page(path)).text);
  const sent = await garage.visitor.post('/submit', { ...rest, ...fields }, { token });
  return { ...sent, words: textOf(sent.text), hidden: rest };
};
const tasks = async () => (await garage.world.call('GET', '/tasks?include=input')).body.tasks;

describe('which type', () => {
  it('is chosen from those that are known, or typed', async () => {
    await present();
    const { text, words } = await page('/submit');
    expect(text).toContain(`href="/submit?${HELLO.replace('&', '&amp;')}"`);
    expect(words).toContain('demo/hello@1 served by 1 worker');
    expect((await page('/submit?type=demo/new&schemaVersion=2')).words).toContain(
      'Submit demo/new@2',
    );
    expect((await page('/submit?type=demo/new@3')).words).toContain('Submit demo/new@3');
  });

  it('is told what is wrong with it, and stays typed', async () => {
    const { text, words } = await page('/submit?type=a%20b%22&schemaVersion=1');
    expect(words).toContain('a b" must be segments of letters');
    expect(text).toContain('value="a b&quot;"');
    expect((await page('/submit?type=a&schemaVersion=x')).words).toContain(
      'a needs a version that is a whole number from 1',
    );
  });
});

describe('the form', () => {
  it('has a field for each property, with its title, words, default and bounds', async () => {
    await present();
    const { text, words } = await page(`/submit?${HELLO}`);
    expect(words).toContain('Who (needed) To be greeted Text up to 10 characters. name');
    expect(text).toMatch(
      /<input id="field-1" name="in\.times"[^>]* value="1" inputmode="numeric">/,
    );
    expect(words).toContain('A whole number from 1 to 9.');
    expect(text).toMatch(/<select id="field-2" name="in\.loud"/);
    expect(text).toContain('<option value="&quot;large&quot;">large</option>');
    expect(text).toMatch(/<textarea id="field-4" name="in\.list"[^>]* class="code"/);
    expect(words).not.toContain('No worker that is online serves');
  });

  it('submits what was typed and goes to the task', async () => {
    await present();
    const done = await send({
      'in.name': 'Ada',
      'in.times': '3',
      'in.loud': 'true',
      'in.size': '"large"',
      'in.list': '[1]',
      pool: 'fast',
      priority: '7',
      notBeforeAt: '2027-01-01T00:00:00Z',
      maxAttempts: '2',
      labels: 'customer=4711\r\nnote=a=b',
    });
    const [task] = await tasks();
    expect(done).toMatchObject({ status: 303, location: `/tasks/${task.id}` });
    expect(task).toMatchObject({
      type: 'demo/hello',
      schemaVersion: 1,
      input: { name: 'Ada', times: 3, loud: true, size: 'large', list: [1] },
      pool: 'fast',
      priority: 7,
      labels: { customer: '4711', note: 'a=b' },
      policy: { maxAttempts: 2 },
    });
  });

  it('makes one task of a double click, and another one when it is opened anew', async () => {
    await present();
    const first = await send({ 'in.name': 'Ada' });
    const again = await garage.visitor.post('/submit', { ...first.hidden, 'in.name': 'Ada' });
    expect(again.location).toBe(first.location);
    expect(await tasks()).toHaveLength(1);
    expect((await send({ 'in.name': 'Ada' })).location).not.toBe(first.location);
    expect(await tasks()).toHaveLength(2);
  });

  it('asks again where it was sent before with other words, and takes them as another task then', async () => {
    await present();
    const first = await send({ 'in.name': 'Ada' });
    const other = { ...first.hidden, 'in.name': 'Bob' };
    const refused = await garage.visitor.post('/submit', other);
    expect(refused.status).toBe(409);
    expect(textOf(refused.text)).toContain('press Submit again');
    expect(refused.text).toContain('value="Bob"');
    const { token = '', ...rest } = hidden(refused.text);
    const done = await garage.visitor.post('/submit', { ...other, ...rest }, { token });
    expect(done.status).toBe(303);
    expect(await tasks()).toHaveLength(2);
  });

  it('tells errors beside their fields and keeps what was typed', async () => {
    await present();
    const sent = await send({ 'in.times': '10', 'in.list': '[', 'in.size': '"huge"', labels: 'x' });
    expect(sent.status).toBe(400);
    expect(sent.text).toMatch(/<p id="field-0-error" class="error"><bdi>is needed<\/bdi>/);
    expect(sent.text).toMatch(
      /<input id="field-1"[^>]*aria-describedby="field-1-help field-1-error" aria-invalid="true"[^>]* value="10"/,
    );
    expect(sent.words).toContain('must be at most 9');
    expect(sent.text).toMatch(/<a href="#field-4"><bdi>list<\/bdi><\/a> <bdi>is no JSON/);
    expect(sent.text).toMatch(/<details id="more" open>/);
    expect(sent.words).toContain('has a line that is not name=value: x');
    expect(await tasks()).toEqual([]);
  });

  it('tells what the control plane refuses beside the field that it means', async () => {
    await present();
    const sent = await send({
      'in.name': 'Ada',
      pool: 'no pool',
      priority: '101',
      notBeforeAt: 'tomorrow',
      maxAttempts: '0',
    });
    expect(sent.status).toBe(400);
    for (const name of ['pool', 'priority', 'notBeforeAt', 'maxAttempts'])
      expect(sent.text).toContain(`<p id="${name}-error" class="error">`);
    expect(sent.words).toContain('must be an RFC 3339 instant in UTC');
    expect(sent.text).toContain('value="tomorrow"');
    expect(await tasks()).toEqual([]);
  });

  it('takes JSON instead of the fields, and says where it is none', async () => {
    await present();
    await send({ json: '{"anything":[1]}', 'in.times': 'nonsense' });
    expect((await tasks())[0].input).toEqual({ anything: [1] });
    const wrong = await send({ json: '{"a":1,"a":2}' });
    expect(wrong.status).toBe(400);
    expect(wrong.text).toContain('<details id="as-json" open>');
    expect(wrong.words).toContain('is no JSON that can be sent');
    expect(wrong.text).toContain('{&quot;a&quot;:1,&quot;a&quot;:2}</textarea>');
  });

  it('is one area for JSON where no worker says what the input is', async () => {
    await present({});
    const { text } = await page(`/submit?${HELLO}`);
    expect(text).not.toContain('<fieldset>');
    expect(text).toMatch(/<textarea id="json" name="json"[^>]*>\n\{\}<\/textarea>/);
    await send({ json: '"plain"' });
    expect((await tasks())[0].input).toBe('plain');
  });

  it('submits also what nobody serves, with a warning and what comes near', async () => {
    await present();
    const path = '/submit?type=demo/Hello&schemaVersion=1';
    const { words } = await page(path);
    expect(words).toContain('No worker that is online serves demo/Hello@1');
    expect(words).toContain('served in another case: demo/hello@1');
    expect(words).toContain('It can be submitted: it waits until one comes.');
    expect((await send({ json: '{}' }, path)).status).toBe(303);
    expect((await tasks())[0].type).toBe('demo/Hello');
  });

  it('keeps its fields where the worker that serves the type is offline, and says so', async () => {
    await present();
    await garage.present('attic', {
      state: 'offline',
      handlers: [{ type: 'demo/hello', schemaVersion: 1, effectSafety: 'pure', inputSchema }],
    });
    const { words, text } = await page(`/submit?${HELLO}`);
    expect(words).toContain('No worker that is online serves demo/hello@1 : attic is offline .');
    expect(text).toContain('name="in.times"');
    expect((await send({ 'in.name': 'Ada' })).status).toBe(303);
    expect((await tasks())[0].input).toMatchObject({ name: 'Ada' });
  });

  it('shows nothing of a schema as markup, nor of what was typed', async () => {
    await present({
      properties: {
        [SCRIPT]: { type: 'string', title: SCRIPT, description: SCRIPT, default: SCRIPT },
        choice: { enum: [SCRIPT] },
      },
    });
    const shown = await page(`/submit?${HELLO}`);
    const sent = await send({
      json: SCRIPT,
      pool: SCRIPT,
      labels: SCRIPT,
      [`in.${SCRIPT}`]: SCRIPT,
    });
    expect(sent.status).toBe(400);
    for (const text of [shown.text, sent.text]) {
      expect(text).not.toMatch(/<script>alert|<img/);
      expect(text).toContain('&lt;script&gt;');
    }
    await send({ [`in.${SCRIPT}`]: 'x' });
    expect((await tasks())[0].input).toEqual({ [SCRIPT]: 'x' });
  });

  it('is not shown to who may not submit', async () => {
    await present();
    await garage.visitor.signIn(await garage.world.key('task-operator'));
    const { words, text } = await page(`/submit?${HELLO}`);
    expect(words).toContain('is of kind task-operator and may not submit tasks');
    expect(text).not.toContain('action="/submit"');
    const sent = await garage.visitor.post(
      '/submit',
      { type: 'demo/hello', schemaVersion: '1', json: '1' },
      { from: '/submit' },
    );
    expect(sent.status).toBe(403);
  });
});
