/** What every call's path begins with. */
export const BASE_PATH = '/api/tasks/v1';
