// Asks for the token of a server that wants one.
import { useRef } from 'preact/hooks';
import { setToken } from './ask';

export function TokenForm({ onDone }: { onDone: () => void }) {
  const field = useRef<HTMLInputElement>(null);
  const submit = (event: Event): void => {
    event.preventDefault();
    setToken(field.current?.value ?? '');
    onDone();
  };
  return (
    <form onSubmit={submit} class="row">
      <label for="token">This server wants a token</label>
      <input id="token" type="password" ref={field} autocomplete="off" />
      <button class="main">Use it</button>
    </form>
  );
}
