// What the server knows: node types, who is here, which model and limits hold.
import { create } from 'zustand'
import { api } from '../api/client'
import type { Me, NodeType } from '../api/types'

interface CatalogState {
  list: NodeType[]
  types: Record<string, NodeType>
  me: Me | null
  error: string | null
  load(): Promise<void>
  refreshMe(): Promise<void>
}

export const useCatalog = create<CatalogState>()((set) => ({
  list: [],
  types: {},
  me: null,
  error: null,
  async load() {
    try {
      const [me, { types }] = await Promise.all([api.me(), api.nodes()])
      set({ me, list: types, types: Object.fromEntries(types.map((type) => [type.name, type])), error: null })
    } catch (error) {
      set({ error: (error as Error).message })
    }
  },
  async refreshMe() {
    try {
      set({ me: await api.me() })
    } catch {
      // The gauge in the bar stays as it was; the next run says what is wrong.
    }
  },
}))
