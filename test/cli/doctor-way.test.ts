import { describe, expect, it } from 'vitest';
import { deadPort } from '../wire/peers.ts';
import { interlock } from './run.ts';
import { temporaryFolder } from './world.ts';

async function doctor(env: Record<string, string>, ...more: string[]) {
  const cwd = temporaryFolder();
  const words = ['tasks', 'doctor', '--url', `https://127.0.0.1:${await deadPort()}`, ...more];
  const people = await interlock(words, { env, cwd });
  const ran = await interlock([...words, '--json', '--debug'], { env, cwd });
  const { checks } = JSON.parse(ran.out) as {
    checks: { name: string; state: string; says: string; fix?: string }[];
  };
  expect(people.out + people.err + ran.out + ran.err).not.toMatch(/s3cret/);
  return {
    code: ran.code,
    out: people.out,
    of: (name: string) => checks.find((one) => one.name === name),
  };
}

describe('the way out, as doctor tells it', () => {
  it.each([
    ['http://u:12#s3cret@p.test:3128', /holds a "#", "\?" or "\/" where none belongs/, /# is %23/],
    ['http://u:%s3cret@p.test:3128', /holds a "%" that begins no code/, /% is %25/],
    ['http://u:s3cret@p.test:port', /is no URL/, /@ is %40/],
  ])(
    'names the variable whose address is none, without the password: %s',
    async (proxy, says, fix) => {
      for (const name of ['HTTPS_PROXY', 'https_proxy', 'ALL_PROXY']) {
        const { of, code, out } = await doctor({ [name]: proxy });
        expect(code).toBe(20);
        expect(of('proxy')).toMatchObject({
          state: 'fail',
          says: expect.stringMatching(new RegExp(`in ${name} ${says.source}`)),
          fix: expect.stringMatching(fix),
        });
        expect(out).toMatch(/^fail {2}proxy /m);
      }
    },
  );

  it('says that a SOCKS proxy cannot be used, and which variable names it', async () => {
    const { of } = await doctor({ ALL_PROXY: 'socks5://u:s3cret@s.test:1080' });
    expect(of('proxy')).toMatchObject({
      state: 'fail',
      says: 'The proxy socks5://s.test:1080 (ALL_PROXY) cannot be used, only http and https proxies can: set HTTPS_PROXY, or add the host to NO_PROXY.',
    });
  });

  it('says that the way is direct, and why', async () => {
    const { of } = await doctor({ HTTP_PROXY: 'http://u:s3cret@p.test' });
    expect(of('proxy')).toMatchObject({ state: 'skip', says: 'direct: no HTTPS_PROXY is set' });
    expect(of('connect')).toMatchObject({
      state: 'fail',
      fix: expect.not.stringContaining('HTTPS_PROXY'),
    });
  });

  it('says which CA file cannot be used', async () => {
    const { of } = await doctor({}, '--ca-file', 'nowhere.pem');
    expect(of('tls')).toMatchObject({
      state: 'fail',
      says: expect.stringContaining('nowhere.pem'),
    });
  });
});
