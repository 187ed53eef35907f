// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * Timing, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param connectMs TCP connection, to the proxy if there is one.
 * @param dnsMs DNS lookup.
 * @param tlsMs TLS handshake.
 * @param firstByteMs From the open connection to the first byte of the answer. Absent: none came, or an older version made the attempt.
 */
public record Timing(
        double connectMs,
        double dnsMs,
        double tlsMs,
        Double firstByteMs) {
    static Timing of(Object json) {
        var r = Shape.Reader.of("Timing", json);
        return new Timing(
                r.number("connect_ms", 0.0),
                r.number("dns_ms", 0.0),
                r.number("tls_ms", 0.0),
                r.number("first_byte_ms"));
    }
}
