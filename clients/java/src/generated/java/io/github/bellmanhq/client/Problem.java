// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * Problem, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param status see the API
 * @param title see the API
 * @param detail see the API
 * @param errors Every wrong field.
 * @param instance The task that the problem is about: the one that has the key.
 * @param type Absent: about:blank; the status says everything.
 */
public record Problem(
        int status,
        String title,
        String detail,
        List<Fault> errors,
        String instance,
        String type) {
    static Problem of(Object json) {
        var r = Shape.Reader.of("Problem", json);
        return new Problem(
                r.int32("status", 0),
                r.text("title"),
                r.text("detail"),
                r.list("errors", Fault::of),
                r.text("instance"),
                r.text("type"));
    }
}
