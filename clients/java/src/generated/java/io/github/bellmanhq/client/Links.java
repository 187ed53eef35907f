// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * Links, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param links see the API
 */
public record Links(
        List<Link> links) {
    static Links of(Object json) {
        var r = Shape.Reader.of("Links", json);
        return new Links(
                r.list("links", Link::of));
    }
}
