import { describe, expect, it } from 'vitest';
import { commands } from '../../src/cli/commands.ts';
import { VERSION } from '../../src/contract/version.ts';
import { interlock } from './run.ts';

describe('the command line', () => {
  it('shows all commands without one, with --help, and those of a group', async () => {
    for (const argv of [[], ['--help'], ['-h'], ['help']]) {
      const { code, out } = await interlock(argv);
      expect(code).toBe(0);
      for (const { path } of commands) expect(out).toContain(`  ${path}`);
    }
    const { out } = await interlock(['tasks']);
    expect(out).toContain('tasks submit <type>');
    expect(out).not.toContain('control-plane');
  });

  it('has a page with examples for every command, no line of it too wide', async () => {
    for (const command of commands) {
      const { code, out } = await interlock([...command.path.split(' '), '--help']);
      expect(code, command.path).toBe(0);
      expect(out).toMatch(new RegExp(`^interlock ${command.path}`));
      expect(out).toContain('\nExamples\n  interlock ');
      expect(command.examples.length).toBeGreaterThan(0);
      const page = out.slice(0, out.indexOf('\nExamples'));
      for (const line of page.split('\n')) expect(line.length).toBeLessThanOrEqual(100);
    }
  });

  it('tells its version', async () => {
    expect(await interlock(['--version'])).toMatchObject({ code: 0, out: `${VERSION}\n` });
  });

  it.each([
    [['taks'], /There is no command "taks". Did you mean tasks\?/],
    [['tasks', 'lsit'], /There is no command "tasks lsit". Did you mean tasks list\?/],
    [['submit', 'a'], /There is no command "submit". Did you mean tasks submit\?/],
    [['check'], /Did you mean interlock-worker --check, or config check\?/],
    [['worker', 'check'], /Did you mean interlock-worker --check\?/],
    [['nothing-like-it'], /There is no command "nothing-like-it"\.\n/],
    [['tasks', 'list', '--lable', 'a'], /tasks list has no flag --lable. Did you mean --label\?/],
    [['tasks', 'list', '-x'], /tasks list has no flag -x\.\n/],
    [['tasks', 'show'], /tasks show needs <task-id>/],
    [['tasks', 'show', 'a', 'b'], /tasks show does not take "b"/],
    [['tasks', 'list', '--limit'], /--limit needs a value/],
    [['tasks', 'list', '--url', 'http://a', '--url', 'http://b'], /--url is given more than once/],
    [['tasks', 'list', '--limit', '0'], /--limit "0" must be a whole number from 1/],
    [['tasks', 'list', '--status', 'faled'], /"faled" is none of .+ Did you mean failed\?/],
    [['tasks', 'list', '--since', 'yesterday'], /--since "yesterday" is neither an instant/],
    [['tasks', 'submit', 'a', '--label', 'x'], /--label "x" is not name=value/],
    [['tasks', 'submit', 'a', '--policy', 'x'], /--policy "x" is neither name=value nor/],
    [['tasks', 'retry', 'tsk_1'], /tasks retry needs --reason/],
    [['tasks', 'resolve', 'tsk_1', '--as', 'done'], /needs --as succeeded \| failed .+ not "done"/],
    [['keys', 'new', 'x', '--kind', 'worker'], /keys new needs --kind, not "worker"/],
    [['control-plane', '--lease-min', '1m'], /--lease-min is longer than --lease-default/],
    [
      ['control-plane', '--behind-proxy', '--tls-cert', 'c', '--tls-key', 'k'],
      /--behind-proxy is for a control plane that speaks plain http[\s\S]+Leave it out/,
    ],
    [['control-plane', '--store', 'postgres'], /--store: "postgres" must be sqlite or memory/],
    [['worker', '--max-concurrent', 'many'], /--max-concurrent: "many" must be a whole number/],
  ])('refuses %j with a usage error that names the mistake', async (argv, words) => {
    const { code, out, err } = await interlock(argv);
    expect(err).toMatch(words);
    expect(err).toMatch(/^next {3}/m);
    expect({ code, out }).toEqual({ code: 64, out: '' });
  });

  it.each([
    [['doctor'], /^next +Run \S*interlock tasks doctor$/m],
    [['tasks', 'sohw', 'tsk_1'], /^next +Run \S*interlock tasks show <task-id>$/m],
    [['taks', 'list'], /^next +Run \S*interlock tasks --help for its commands\.$/m],
    [['check'], /^next +Run interlock-worker --check .+; interlock-worker --help lists/m],
    [['nothing-like-it'], /^next +Run interlock --help/m],
  ])('tells for %j the command that was meant as the next step', async (argv, words) => {
    expect((await interlock(argv)).err).toMatch(words);
  });

  it('refuses a key as a flag, says why, and does not repeat it', async () => {
    for (const flag of ['--key', '--worker-key', '--admin-key', '--token', '--password']) {
      for (const argv of [[flag, 'il_secretsecret'], [`${flag}=il_secretsecret`]]) {
        const { code, out, err } = await interlock(['tasks', 'list', ...argv]);
        expect(code).toBe(64);
        expect(err).toContain(`${flag} is refused: what stands on a command line can be read`);
        expect(err).toContain('--key-file');
        expect(out + err).not.toContain('secretsecret');
      }
    }
  });

  it('takes --json before the command too, and then tells errors in JSON on stderr', async () => {
    const { code, out, err } = await interlock(['--json', 'tasks', 'show', 'tsk_1']);
    expect(out).toBe('');
    expect(JSON.parse(err)).toMatchObject({ error: { code: 'KEY_MISSING', exitCode: code } });
  });

  it('shows a stack only with --debug', async () => {
    expect((await interlock(['tasks', 'show', 'tsk_1'])).err).not.toMatch(/^\s+at /m);
    expect((await interlock(['tasks', 'show', 'tsk_1', '--debug'])).err).toMatch(/^\s+at /m);
  });

  it('is in English and in plain text, whatever the environment says', async () => {
    const env = { LANG: 'de_DE.UTF-8', LC_ALL: 'de_DE.UTF-8' };
    const { err } = await interlock(['tasks', 'list', '--limit'], { env });
    expect(err).toContain('--limit needs a value');
    expect(err).not.toContain('\u001b[');
  });
});
