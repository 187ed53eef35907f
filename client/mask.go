package client

import "strings"

// Masked replaces the value of a secret header.
const Masked = "***"

// MaskHeaders returns a copy of headers for display; it is never nil. [Masked] replaces all values
// except those of headers that are known to carry no secret, such as Content-Type. The API, the
// console and the export use it.
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

// harmless are the headers, in lower case, that carry no credentials.
var harmless = map[string]bool{
	"accept": true, "accept-charset": true, "accept-encoding": true, "accept-language": true, "cache-control": true,
	"content-disposition": true, "content-encoding": true, "content-language": true, "content-length": true,
	"content-type": true, "date": true, "host": true, "prefer": true, "user-agent": true,
	"age": true, "allow": true, "connection": true, "retry-after": true, "server": true, "vary": true, "via": true, "www-authenticate": true,
	"traceparent": true, "tracestate": true, "x-request-id": true, "x-correlation-id": true,
}
