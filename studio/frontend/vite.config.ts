// Built to stable names under studio/static, which is committed; CI builds again and compares byte for byte.
import { defineConfig } from 'vitest/config'
import react from '@vitejs/plugin-react'

export default defineConfig({
  base: '/static/',
  publicDir: 'public',
  plugins: [react()],
  build: {
    outDir: '../static',
    emptyOutDir: true,
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    cssCodeSplit: false,
    sourcemap: false,
    license: { fileName: 'licenses.md' },
    rollupOptions: {
      input: { studio: 'src/main.tsx' },
      output: {
        entryFileNames: '[name].js',
        chunkFileNames: '[name].js',
        assetFileNames: (asset) => (asset.names.some((name) => name.endsWith('.css')) ? 'studio.css' : '[name][extname]'),
        codeSplitting: { groups: [{ name: 'dagre', test: /node_modules\/@dagrejs/ }, { name: 'vendor', test: /node_modules\/(react|react-dom|scheduler|@xyflow|d3-|zustand|classcat|use-sync)/ }] },
      },
    },
  },
  server: { proxy: { '/api': 'http://127.0.0.1:8765' } },
  test: { include: ['test/**/*.test.ts'], environment: 'node' },
})
