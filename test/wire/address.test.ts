import { describe, expect, it } from 'vitest';
import type { TaskError } from '../../src/contract/index.ts';
import { constantKey, withoutKeys } from '../../src/wire/key.ts';
import { proxyChooser, proxyFromEnvironment, proxyRoutes } from '../../src/wire/proxy.ts';
import { isLoopback, serviceAddress } from '../../src/wire/service-url.ts';

const BASE = '/api/tasks/v1';

describe('the address of a control plane', () => {
  it.each([
    ['http://127.0.0.1:7420', `http://127.0.0.1:7420${BASE}`],
    ['http://127.0.0.1:7420/', `http://127.0.0.1:7420${BASE}`],
    ['https://x.test/behind/proxy//', `https://x.test/behind/proxy${BASE}`],
    [`https://x.test${BASE}/`, `https://x.test${BASE}`],
    ['http://[::1]:7420', `http://[::1]:7420${BASE}`],
  ])('%s becomes %s', (given, base) => {
    expect(serviceAddress(given).base).toBe(base);
  });

  it.each([
    'http://localhost:1',
    'http://a.localhost',
    'http://127.9.9.9',
    'http://[::1]',
    'http://2130706433',
  ])('takes %s without a word', (given) => {
    expect(() => serviceAddress(given)).not.toThrow();
  });

  it.each([
    'http://tasks.example.com',
    'http://10.0.0.1',
    'http://127.0.0.1.example.com',
    'http://[2001:db8::1]',
  ])('refuses to send a key to %s', (given) => {
    expect(() => serviceAddress(given)).toThrow(expect.objectContaining({ code: 'INSECURE_HTTP' }));
    expect(serviceAddress(given, true).base).toContain(BASE);
  });

  it.each(['tasks.example.com', 'ftp://x', 'https://u:p@x', 'https://x?key=1', '', 'https://x#y'])(
    'refuses "%s" as an address',
    (given) => {
      expect(() => serviceAddress(given)).toThrow(
        expect.objectContaining({ code: 'INVALID_ADDRESS' }),
      );
    },
  );

  it('does not repeat a password of an address that is no URL', () => {
    try {
      serviceAddress('https://user:hunter2@:x');
      expect.unreachable();
    } catch (error) {
      expect(String(error)).not.toContain('hunter2');
    }
  });

  it('knows an IPv4 loopback address in IPv6 clothes', () => {
    expect(isLoopback('[::ffff:7f00:1]')).toBe(true);
    expect(isLoopback('[::ffff:a00:1]')).toBe(false);
  });
});

describe('a key', () => {
  it('is trimmed, and refused without being quoted where it could not stand in a header', () => {
    expect(constantKey(' il_abc\r\n').current()).toBe('il_abc');
    for (const bad of ['', 'il_a b', 'il_ключ', 'il_a\nil_b', 'x'.repeat(600)]) {
      expect(() => constantKey(bad)).toThrow(expect.objectContaining({ code: 'KEY_MALFORMED' }));
      expect(() => constantKey(bad)).not.toThrow(/il_a/);
    }
  });

  it('is taken out of foreign texts', () => {
    expect(withoutKeys('x il_a-b_9 y "Bearer abc" z')).toBe('x il_… y "Bearer …" z');
  });
});

describe('the proxy of an address', () => {
  const env = {
    HTTPS_PROXY: 'proxy.test:3128',
    http_proxy: 'http://u:p%40@h.test',
    HTTP_PROXY: 'http://no.test',
  };
  const choose = (none: string) => proxyChooser({ ...proxyFromEnvironment(env), none });

  it('comes from the environment, small letters first, without its password in sight', () => {
    expect(choose('')('https:', 'x.test', 443)).toMatchObject({ shown: 'http://proxy.test:3128' });
    expect(choose('')('http:', 'x.test', 80)).toEqual({
      host: 'h.test',
      port: 80,
      tls: false,
      authorization: `Basic ${btoa('u:p@')}`,
      shown: 'http://h.test:80',
      from: 'http_proxy',
    });
  });

  it('is none for plain http on loopback: the key stays on this machine', () => {
    expect(choose('')('http:', '127.0.0.1', 7420)).toBeUndefined();
    expect(choose('')('https:', '127.0.0.1', 7420)).toBeDefined();
  });

  it.each([
    ['x.test', 'x.test', 443, true],
    ['x.test', 'a.x.test', 443, true],
    ['.x.test', 'a.x.test', 443, true],
    ['*.x.test', 'a.x.test', 443, true],
    ['x.test', 'notx.test', 443, false],
    ['X.Test', 'x.TEST', 443, true],
    ['x.test:8443', 'x.test', 8443, true],
    ['x.test:8443', 'x.test', 443, false],
    ['10.0.0.0/8', '10.1.2.3', 443, true],
    ['10.0.0.0/8', '11.1.2.3', 443, false],
    ['fd00::/8', '[fd12::1]', 443, true],
    ['::1', '[::1]', 443, true],
    ['[::1]:443', '[::1]', 443, true],
    ['192.168.1.1', '192.168.1.1', 443, true],
    ['*', 'anything.test', 443, true],
    ['a.test, b.test  c.test', 'c.test', 443, true],
    ['10.0.0.0/99', '10.0.0.1', 443, false],
    ['', 'x.test', 443, false],
  ])('NO_PROXY "%s" and %s:%i: direct is %s', (none, host, port, direct) => {
    expect(choose(none)('https:', host, port) === undefined).toBe(direct);
  });

  it.each([
    ['http://', 'is no URL', 'http://proxy.example.com:3128'],
    ['http://u:s3cret@:x', 'is no URL', '@ is %40'],
    ['http://u:%zzs3cret@x.test', 'holds a "%" that begins no code', '% is %25'],
    ['http://u:12#s3cret@x.test:3128', 'holds a "#", "?" or "/"', '# is %23'],
    ['http://u:12?s3cret@x.test:3128', 'holds a "#", "?" or "/"', '? is %3F'],
    ['http://u:12/s3cret@x.test:3128', 'holds a "#", "?" or "/"', '/ is %2F'],
  ])('is refused where it is no address, without a word of it: %s', (https, why, hint) => {
    const names = { HTTPS_PROXY: https };
    const error = (() => {
      try {
        return proxyChooser(proxyFromEnvironment(names));
      } catch (thrown) {
        return thrown as TaskError;
      }
    })();
    expect(error).toMatchObject({ code: 'INVALID_PROXY' });
    const told = `${(error as TaskError).message} ${(error as TaskError).hint}`;
    expect(told).toContain(`in HTTPS_PROXY ${why}`);
    expect(told).toContain(hint);
    expect(told).not.toMatch(/s3cret|\b12\b|u:/);
  });

  it('is that of the variable which wins: small letters, then capitals, then ALL_PROXY; empty is not set', () => {
    const cases: [Record<string, string>, string | undefined][] = [
      [{ https_proxy: 'a.test', HTTPS_PROXY: 'b.test', ALL_PROXY: 'c.test' }, 'https_proxy'],
      [{ https_proxy: '', HTTPS_PROXY: 'b.test', all_proxy: 'c.test' }, 'HTTPS_PROXY'],
      [{ HTTPS_PROXY: '', all_proxy: 'c.test', ALL_PROXY: 'd.test' }, 'all_proxy'],
      [{ ALL_PROXY: 'd.test', HTTP_PROXY: 'e.test' }, 'ALL_PROXY'],
      [{ HTTP_PROXY: 'e.test' }, undefined],
    ];
    for (const [set, from] of cases) {
      const proxy = proxyChooser(proxyFromEnvironment(set))('https:', 'x.test', 443);
      expect(proxy?.from).toBe(from);
      expect(proxy?.host).toBe(from === undefined ? undefined : set[from]);
    }
  });

  it('says why an address is reached as it is', () => {
    const says = (set: Record<string, string>, url: string) => {
      const { protocol, hostname, port } = new URL(url);
      return proxyRoutes(proxyFromEnvironment(set))(protocol, hostname, Number(port) || 443).says;
    };
    const set = { HTTPS_PROXY: 'http://u:s3cret@[::1]:3128', no_proxy: '.x.test' };
    expect(says(set, 'https://y.test')).toBe('through http://[::1]:3128 (HTTPS_PROXY)');
    expect(says(set, 'https://a.x.test')).toBe('direct: no_proxy names a.x.test');
    expect(says(set, 'http://127.0.0.1:7420')).toBe('direct: http on this machine needs no proxy');
    expect(says({}, 'https://y.test')).toBe('direct: no HTTPS_PROXY is set');
  });

  it('of another kind hurts only the calls that need it', () => {
    const socks = proxyFromEnvironment({
      ALL_PROXY: 'socks5://u:pw@s.test:1080',
      NO_PROXY: 'x.test',
    });
    const chosen = proxyChooser(socks);
    expect(chosen('https:', 'x.test', 443)).toBeUndefined();
    expect(chosen('https:', 'y.test', 443)?.unusable).toContain(
      'socks5://s.test:1080 (ALL_PROXY) cannot be used',
    );
  });
});
