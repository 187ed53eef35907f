// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * Notices, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param notices see the API
 * @param nextCursor Where the next page begins; empty: this is the last.
 */
public record Notices(
        List<Notice> notices,
        String nextCursor) {
    static Notices of(Object json) {
        var r = Shape.Reader.of("Notices", json);
        return new Notices(
                r.list("notices", Notice::of),
                r.text("next_cursor"));
    }
}
