export const effectSafety = 'pure';

export default ({ code }) => process.exit(code);
