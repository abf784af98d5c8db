// The description of the calls, from /openapi.json.
import { useEffect, useState } from 'preact/hooks';
import { Description, loadDescription } from './serve_api';

export function Docs() {
  const [description, setDescription] = useState<Description>();
  useEffect(() => {
    void loadDescription().then(setDescription);
  }, []);
  if (!description) return null;
  return (
    <>
      <p>{description.info.description} <a href="/openapi.json">openapi.json</a></p>
      {Object.entries(description.paths).flatMap(([path, methods]) =>
        Object.entries(methods).map(([method, call]) => (
          <details>
            <summary><strong>{method.toUpperCase()}</strong> <code>{path}</code> {call.summary}</summary>
            {call.requestBody?.description && <p>Body: {call.requestBody.description}</p>}
            <table>
              <tbody>
                {Object.entries(call.responses).map(([status, response]) => <tr><td>{status}</td><td>{response.description}</td></tr>)}
              </tbody>
            </table>
          </details>
        )),
      )}
    </>
  );
}
