/** A program for `killed.ci.test.ts`: an update that ends by SIGKILL before or after its n-th step on the disk. */
import { readFileSync } from 'node:fs';
import { updateWith, watchedFiles } from './steps.ts';

const [, , exe = '', release = '', pemFile = '', target = '', at = '', when = ''] = process.argv;
let step = 0;
const die = () => {
  if (step === Number(at)) process.kill(process.pid, 'SIGKILL');
};
const files = watchedFiles({
  before: () => {
    step += 1;
    if (when === 'before') die();
  },
  after: () => {
    if (when === 'after') die();
  },
});
await updateWith(files, { exe, release, pem: readFileSync(pemFile, 'utf8'), target });
process.stdout.write(`${step}\n`);
