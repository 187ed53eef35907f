package client

import "strings"

// Masked stands for the value of a header that is a secret.
const Masked = "***"

// MaskHeaders returns a copy of headers, never nil, for showing to somebody: [Masked] replaces
// all values but those of headers that are known to carry no secret, such as Content-Type. The
// API, the console and the export mask with it.
func MaskHeaders(headers map[string]string) map[string]string {
	shown := make(map[string]string, len(headers))
	for name, value := range headers {
		if !harmless[strings.ToLower(name)] {
			value = Masked
		}
		shown[name] = value
	}
	return shown
}

// harmless are the headers, in lower case, that say nothing that lets anybody in.
var harmless = map[string]bool{
	"accept": true, "accept-charset": true, "accept-encoding": true, "accept-language": true, "cache-control": true,
	"content-disposition": true, "content-encoding": true, "content-language": true, "content-length": true,
	"content-type": true, "date": true, "host": true, "prefer": true, "user-agent": true,
	"traceparent": true, "tracestate": true, "x-request-id": true, "x-correlation-id": true,
}
