// Begins here: styles, then the app in the shell's root.
import { createRoot } from 'react-dom/client'
import '@xyflow/react/dist/base.css'
import './styles/tokens.css'
import './styles/base.css'
import './styles/frame.css'
import './styles/canvas.css'
import './styles/form.css'
import './styles/drawer.css'
import './styles/timeline.css'
import './styles/pages.css'
import { App, takeToken } from './app/App'
import { applyTheme, useUi } from './state/ui'

applyTheme(useUi.getState().theme)
createRoot(document.getElementById('root')!).render(<App token={takeToken()} />)
