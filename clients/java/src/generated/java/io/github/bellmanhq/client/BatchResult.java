// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * BatchResult, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param status 201: created. 200: the key exists with the same content. Otherwise see error.
 * @param error see the API
 * @param task see the API
 */
public record BatchResult(
        int status,
        Problem error,
        Task task) {
    static BatchResult of(Object json) {
        var r = Shape.Reader.of("BatchResult", json);
        return new BatchResult(
                r.int32("status", 0),
                r.shape("error", Problem::of),
                r.shape("task", Task::of));
    }
}
