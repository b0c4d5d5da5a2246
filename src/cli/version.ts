export { VERSION } from '../contract/version.ts';
