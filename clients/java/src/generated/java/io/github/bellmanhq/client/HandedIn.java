// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * HandedIn, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param notices see the API
 */
public record HandedIn(
        List<Notice> notices) {
    static HandedIn of(Object json) {
        var r = Shape.Reader.of("HandedIn", json);
        return new HandedIn(
                r.list("notices", Notice::of));
    }
}
