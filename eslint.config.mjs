import js from '@eslint/js';
import tseslint from 'typescript-eslint';

/** Folders are layers (README, "How the code is laid out"): a folder may import only from the ones listed for it. */
const layers = {
  native: [],
  gridengine: [],
  sources: ['native'],
  sampler: ['sources', 'gridengine', 'native'],
  accounting: ['sampler', 'gridengine', 'native'],
  live: ['accounting', 'sampler', 'gridengine', 'native'],
  report: ['live', 'accounting', 'sampler', 'gridengine'],
  server: ['live', 'report', 'accounting', 'sampler', 'gridengine', 'native'],
};

const everyLayer = ['cli', 'server', 'report', 'live', 'sampler', 'accounting', 'sources', 'gridengine', 'native'];

const layerRules = Object.entries(layers).map(([layer, allowed]) => ({
  files: [`src/${layer}/**/*.ts`],
  rules: {
    'no-restricted-imports': [
      'error',
      {
        patterns: everyLayer
          .filter((other) => other !== layer && !allowed.includes(other))
          .map((other) => ({ group: [`**/${other}/**`], message: `src/${layer} is below src/${other}` })),
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
    languageOptions: { parserOptions: { project: './tsconfig.json', tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
      '@typescript-eslint/no-non-null-assertion': 'error',
      '@typescript-eslint/consistent-type-imports': 'error',
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
  { files: ['**/*.mjs', '**/*.js'], ...tseslint.configs.disableTypeChecked },
  ...layerRules,
);
