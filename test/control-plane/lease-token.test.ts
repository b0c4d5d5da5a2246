import { createHmac } from 'node:crypto';
import { expect, it } from 'vitest';
import { leaseToken, tokenFits } from '../../src/control-plane/lease-token.ts';

const secret = new Uint8Array(32).fill(9);
const holder = { project: 'default', attemptId: 'att_1', fence: 3 };

it('is the HMAC of epoch, project, attempt and fence under the secret of the control plane', () => {
  const made = createHmac('sha256', secret).update('epoch\ndefault\natt_1\n3').digest('base64url');
  expect(leaseToken(secret, 'epoch', holder)).toBe(made);
  expect(tokenFits(secret, 'epoch', holder, made)).toBe(true);
});

it('is another one for another secret, epoch, project, attempt or fence', () => {
  const tokens = [
    leaseToken(secret, 'epoch', holder),
    leaseToken(new Uint8Array(32).fill(8), 'epoch', holder),
    leaseToken(secret, 'later', holder),
    leaseToken(secret, 'epoch', { ...holder, project: 'shop' }),
    leaseToken(secret, 'epoch', { ...holder, attemptId: 'att_2' }),
    leaseToken(secret, 'epoch', { ...holder, fence: 4 }),
    // The parts cannot run into each other.
    leaseToken(secret, 'epoch', { ...holder, attemptId: 'att_', fence: 13 }),
  ];
  expect(new Set(tokens).size).toBe(tokens.length);
  for (const token of tokens.slice(1))
    expect(tokenFits(secret, 'epoch', holder, token)).toBe(false);
});
