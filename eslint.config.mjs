import js from '@eslint/js';
import tseslint from 'typescript-eslint';

/** Folders are layers (docs/architecture.md): a folder may import only from those below it. */
const order = [
  'cli',
  'server',
  'export',
  'report',
  'live',
  'advice',
  'accounting',
  'sampler',
  'sources',
  'native',
  'record',
  'gridengine',
  'base',
];

/** What is below, but not for it: figures are shown, not read, by those who draw them. */
const apart = {
  live: ['sources'],
  export: ['sources'],
  report: ['sources', 'native'],
  server: ['sources'],
  accounting: ['sources'],
  native: ['record', 'gridengine'],
};

const layerRules = order.map((layer, index) => ({
  files: [`src/${layer}/**/*.ts`],
  rules: {
    'no-restricted-imports': [
      'error',
      {
        patterns: [...order.slice(0, index), ...(apart[layer] ?? [])].map((other) => ({
          group: [`**/${other}/**`],
          message: `src/${layer} does not import from src/${other}`,
        })),
      },
    ],
  },
}));

export default tseslint.config(
  { ignores: ['dist/', 'node_modules/'] },
  js.configs.recommended,
  ...tseslint.configs.strictTypeChecked,
  ...tseslint.configs.stylisticTypeChecked,
  {
    languageOptions: {
      parserOptions: {
        project: ['./tsconfig.json', './src/server/web/client/tsconfig.json'],
        tsconfigRootDir: import.meta.dirname,
      },
    },
    rules: {
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
      '@typescript-eslint/no-non-null-assertion': 'error',
      '@typescript-eslint/consistent-type-imports': 'error',
      // What few runs need is loaded when it is needed. ('node:module' would cost every sampler the start of Node's ESM loader.)
      '@typescript-eslint/no-require-imports': [
        'error',
        { allow: ['^\\.', '^node:', '^smol-toml$', '^fast-xml-parser$', '^koffi$', '^better-sqlite3'] },
      ],
      '@typescript-eslint/no-restricted-imports': [
        'error',
        {
          name: 'better-sqlite3',
          allowTypeImports: true,
          message: 'import src/native/sqlite: it has the version for the Node that runs',
        },
      ],
      // Parameter properties can't be written with #, so that it would be a second way.
      'no-restricted-syntax': ['error', { selector: 'PrivateIdentifier', message: 'write private, not #' }],
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      '@typescript-eslint/prefer-nullish-coalescing': 'off',
      '@typescript-eslint/non-nullable-type-assertion-style': 'off',
      '@typescript-eslint/no-unnecessary-condition': ['error', { allowConstantLoopConditions: true }],
    },
  },
  {
    files: ['test/**/*.ts'],
    rules: {
      '@typescript-eslint/no-floating-promises': [
        'error',
        {
          allowForKnownSafeCalls: [
            { from: 'package', name: ['describe', 'it', 'test', 'before', 'after'], package: 'node:test' },
          ],
        },
      ],
    },
  },
  { files: ['src/**/*.ts'], rules: { 'max-lines-per-function': ['error', 80], 'max-params': ['error', 5] } },
  { files: ['**/*.mjs', '**/*.js'], ...tseslint.configs.disableTypeChecked },
  {
    files: ['**/*.js'],
    languageOptions: {
      sourceType: 'commonjs',
      globals: Object.fromEntries(
        ['require', 'exports', 'module', '__filename', '__dirname'].map((name) => [name, 'readonly']),
      ),
    },
    rules: { '@typescript-eslint/no-require-imports': 'off' },
  },
  ...layerRules,
);
