// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * PerEndpoint, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param concurrency see the API
 * @param rate Most attempts a second; 0: no limit.
 */
public record PerEndpoint(
        int concurrency,
        double rate) {
    static PerEndpoint of(Object json) {
        var r = Shape.Reader.of("PerEndpoint", json);
        return new PerEndpoint(
                r.int32("concurrency", 0),
                r.number("rate", 0.0));
    }
}
