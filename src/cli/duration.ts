export { durationText, durationWords, parseDuration } from '../core/duration-words.ts';
