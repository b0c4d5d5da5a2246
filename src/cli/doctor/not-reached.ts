/** Why what only the control plane can tell was not looked at. */
export const NOT_REACHED = 'the control plane was not reached';
