// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * ResendCount, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param merchants Number of distinct merchants of the tasks; no merchant counts as one.
 * @param more There are more than counted.
 * @param newest see the API
 * @param oldest see the API
 * @param tasks see the API
 * @param top The merchants with the most tasks, ten at most.
 */
public record ResendCount(
        int merchants,
        boolean more,
        Instant newest,
        Instant oldest,
        int tasks,
        List<MerchantCount> top) implements Operations.StartResendAnswer {
    static ResendCount of(Object json) {
        var r = Shape.Reader.of("ResendCount", json);
        return new ResendCount(
                r.int32("merchants", 0),
                r.bool("more", false),
                r.time("newest"),
                r.time("oldest"),
                r.int32("tasks", 0),
                r.list("top", MerchantCount::of));
    }
}
