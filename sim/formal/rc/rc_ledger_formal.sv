// rc_ledger: tags are given in turn, and none before its frame is released. Frames are released in order, each once, when all of their
// descriptors were accepted and nobody holds them, and soon then. The holds of one tag, any, are counted.
module rc_ledger_formal
  import framelane_pkg::*;
  import rc_pkg::*;
  import tx_counters_pkg::*;
#(
    parameter int unsigned Tags = 4,

    localparam int unsigned IndexW = $clog2(Tags)
) (
    input logic clk,
    input logic rst,

    input tag_t tag_o,
    input logic ready_o,
    input logic accepted_i,

    input logic issued_i,
    input tag_t issued_tag_i,

    input rc_retired_t s_axis_retired_tdata,
    input logic        s_axis_retired_tvalid,
    input logic        s_axis_retired_tready,

    input logic ended_i,
    input logic failed_i,

    input logic [15:0] s_axis_over_tdata,
    input logic        s_axis_over_tvalid,
    input logic        s_axis_over_tready,

    input logic release_o,
    input logic idle_o,

    input logic out_valid,  // a message has begun, and not ended
    input tag_t out_tag,
    input logic out_rc,
    input logic out_last,
    input logic [7:0] out_destination,

    input count_t count,
    input logic   count_valid,
    input logic   count_ready,
    input logic   bad_q,
    input logic   left_q,

    input logic [IndexW-1:0] oldest_q,
    input logic [IndexW-1:0] newest_q,
    input logic [IndexW-1:0] next_q,
    input logic [IndexW-1:0] clear_q,
    input logic              clearing_q,
    input logic [15:0]       accepted_q,

    // Of the kinds of events
    input logic [15:0] accepts[Tags],
    input logic [15:0] issues[Tags],
    input logic [15:0] retires[Tags],
    input logic [15:0] ends[Tags],
    input logic [3:0][15:0] sums,
    input logic [3:0] events_q,
    input logic [3:0][IndexW-1:0] tags_q,
    input logic [3:0][15:0] shown,

    input logic [15:0] taken_q,
    input logic [15:0] given_back_q,
    input logic [1:0][IndexW-1:0] newest_before_q,
    input logic [1:0] looks_q,
    input logic [3:0] recent_q,

    input logic [5:0] counts_write_q,
    input logic [5:0] counts_read_q,
    input logic counts_full_q
);

  localparam logic [15:0] MOST = 16'hfff0;  // holds of a tag
  typedef logic [IndexW-1:0] index_t;

  reset_rule u_reset (.*);

  index_t any_tag;  // a constant, the solver's choice

  // Frames whose end has come, and frames released, modulo twice the tags; descriptors accepted
  logic [IndexW:0] begun_q, released_q, out;
  logic [15:0] all_q;
  index_t oldest, newest;
  logic over, retired;

  assign oldest = index_t'(released_q);
  assign newest = index_t'(begun_q);
  assign out = begun_q - released_q;  // the tag that is given now is out besides
  assign over = s_axis_over_tvalid && s_axis_over_tready;
  assign retired = s_axis_retired_tvalid && s_axis_retired_tready;

  // Events of the tag by kind, as they were 0 to 3 cycles ago; so for the oldest frame and the newest
  logic [3:0] events;
  logic [3:0][3:0][15:0] counts_q;
  logic [3:0][15:0] held;
  logic [3:1][IndexW-1:0] oldest_before_q;
  logic [2:1][IndexW-1:0] newest_were_q;
  logic [1:0] takes, gives;
  logic [2:0] overs;  // the tag's frame was over, and not released
  logic ripe;
  logic [1:0] waited_q;

  assign events[0] = accepted_i && index_t'(tag_o) == any_tag;
  assign events[1] = issued_i && index_t'(issued_tag_i) == any_tag;
  assign events[2] = retired && index_t'(s_axis_retired_tdata.tag) == any_tag;
  assign events[3] = ended_i && index_t'(out_tag) == any_tag;
  assign takes = 2'(events[0]) + 2'(events[1]);
  assign gives = 2'(events[2]) + 2'(events[3]);
  assign overs[0] = index_t'(any_tag - oldest) < index_t'(newest - oldest);
  assign ripe = overs[0] && oldest == any_tag && held[0] == '0;

  always_comb begin
    for (int unsigned k = 0; k < 4; k++) begin
      held[k] = counts_q[k][0] + counts_q[k][1] - counts_q[k][2] - counts_q[k][3];
    end
    for (int unsigned k = 1; k < 3; k++) begin
      overs[k] = index_t'(any_tag - oldest_before_q[k]) < index_t'(newest_were_q[k] - oldest_before_q[k]);
    end
  end

  always_ff @(posedge clk) begin
    any_tag <= any_tag;
    begun_q <= begun_q + (IndexW + 1)'(over);
    released_q <= released_q + (IndexW + 1)'(release_o);
    all_q <= all_q + 16'(accepted_i);
    counts_q[3:1] <= counts_q[2:0];
    for (int unsigned k = 0; k < 4; k++) counts_q[0][k] <= counts_q[0][k] + 16'(events[k]);
    oldest_before_q <= {oldest_before_q[2:1], oldest};
    newest_were_q <= {newest_were_q[1], newest};
    waited_q <= !ripe || release_o ? '0 : waited_q + 1'b1;
    if (rst) begin
      begun_q <= '0;
      released_q <= '0;
      all_q <= '0;
      counts_q <= '0;
      oldest_before_q <= '0;
      newest_were_q <= '0;
      waited_q <= '0;
    end
  end

  // What is counted: frames whose last message has left, those of RC when their last descriptor is retired
  logic left_was_q, failed_was_q, failed_so_far_q, last_retired, failed;
  logic [7:0] destination_q;

  assign last_retired = retired && s_axis_retired_tdata.last;
  assign failed = left_was_q ? failed_was_q : s_axis_retired_tdata.failed;

  always_ff @(posedge clk) begin
    left_was_q <= ended_i && !out_rc && out_last;
    failed_was_q <= failed_so_far_q || failed_i;
    destination_q <= out_destination;
    if (ended_i && !out_rc) failed_so_far_q <= (failed_so_far_q || failed_i) && !out_last;
    if (rst) begin
      left_was_q <= 1'b0;
      failed_so_far_q <= 1'b0;
    end
  end

  always_comb begin
    assume (!accepted_i || ready_o);
    assume (!accepted_i || !(s_axis_over_tvalid && s_axis_over_tdata == all_q));
    assume (!ended_i || out_valid);
    assume (16'(gives) <= held[0]);
    assume (!events[1] || held[0] > 16'(gives));
    assume (held[0] < MOST || takes == '0);
  end

  logic [3:0][15:0] now;  // in the memories
  assign now = {ends[any_tag], retires[any_tag], issues[any_tag], accepts[any_tag]};

  // What the memories, and what is read of them, are to the events, by kind
  logic [3:0] stored, added, summed, showed;

  always_comb begin
    for (int unsigned k = 0; k < 4; k++) begin
      stored[k] = now[k] == counts_q[1][k];
      added[k] = counts_q[0][k] - counts_q[1][k] == 16'(events_q[k] && tags_q[k] == any_tag);
      summed[k] = !events_q[k] || tags_q[k] != any_tag || sums[k] == now[k] + 1'b1;
      showed[k] = shown[k] == counts_q[2][k];
    end
  end

  always_comb begin
    if (!rst) begin
      a_tag : assert (tag_o == tag_t'(newest));
      a_out : assert (32'(out) < Tags);
      if (over) begin
        a_free : assert (32'(out) + 1 < Tags);
        a_empty : assert (held[0] == '0 || index_t'(newest + 1'b1) != any_tag);
        a_all : assert (s_axis_over_tdata == all_q);
      end
      if (release_o) a_order : assert (out != '0);
      if (release_o && oldest == any_tag) a_needed : assert (held[0] == '0 && gives == '0 && takes == '0);
      if (ripe && waited_q == 2'd3) a_soon : assert (release_o);
      if (idle_o) a_idle : assert (out == '0 && held[0] == '0);
      if (last_retired) a_counted : assert (count_ready && !left_was_q);
      a_counts : assert (count_valid == (left_was_q || last_retired));
      if (count_valid) begin
        a_count :
        assert (count.amount == 64'd1 && count.index == destination_counter(
            left_was_q ? destination_q : s_axis_retired_tdata.destination_index,
            failed ? DESTINATION_FAILED : DESTINATION_SENT));
      end

      i_index : assert (oldest_q == oldest && newest_q == newest && next_q == index_t'(newest + 1'b1));
      i_accepted : assert (accepted_q == all_q);
      i_newest : assert (newest_before_q == newest_were_q);
      i_left : assert (left_q == left_was_q && bad_q == failed_so_far_q);
      i_full : assert (counts_full_q == (counts_write_q - counts_read_q == 6'd32));
      i_counts : assert (counts_write_q - counts_read_q <= 6'd32);
      if (clearing_q) begin
        i_clearing : assert (begun_q == '0 && released_q == '0 && counts_q == '0 && all_q == '0);
        i_before : assert (oldest_before_q == '0 && newest_were_q == '0 && looks_q == '0);
        i_clears : assert (clear_q <= any_tag || now == '0);
        if (any_tag == '0 && clear_q >= index_t'(2)) i_clear_shown : assert (shown == '0);
        if (any_tag == '0 && clear_q >= index_t'(3)) i_clear_taken : assert (taken_q == '0 && given_back_q == '0);
      end else begin
        i_stored : assert (stored == '1);
        if (oldest_before_q[1] == any_tag) i_shown : assert (showed == '1);
        if (oldest_before_q[2] == any_tag) begin
          i_taken : assert (taken_q == counts_q[3][0] + counts_q[3][1]);
          i_given : assert (given_back_q == counts_q[3][2] + counts_q[3][3]);
        end
      end
      i_added : assert (added == '1);
      i_summed : assert (summed == '1);
      i_looks :
      assert (oldest - oldest_before_q[1] == index_t'(looks_q[0]) &&
          oldest_before_q[1] - oldest_before_q[2] == index_t'(looks_q[1]));
      i_moves :
      assert ((newest == newest_were_q[1] ||
              (newest == index_t'(newest_were_q[1] + 1'b1) && newest != oldest_before_q[1])) &&
          (newest_were_q[1] == newest_were_q[2] ||
              (newest_were_q[1] == index_t'(newest_were_q[2] + 1'b1) && newest_were_q[1] != oldest_before_q[2])));
      i_settled_0 : assert (!overs[0] || held[1] != '0 || held[0] == '0);
      i_settled_1 : assert (!overs[1] || held[2] != '0 || held[1] == '0);
      i_settled_2 : assert (!overs[2] || held[3] != '0 || held[2] == '0);
      i_dead : assert (index_t'(any_tag - oldest) <= index_t'(newest - oldest) || held[0] == '0);
      i_held : assert (held[0] <= MOST + 16'd1);
      i_recent :
      assert ((recent_q[0] || counts_q[0] == counts_q[1]) && (recent_q[1] || counts_q[1] == counts_q[2]) &&
          (recent_q[2] || counts_q[2] == counts_q[3]));
      if (waited_q >= 2'd1) i_waited_1 : assert (held[1] == '0 && overs[1] && oldest_before_q[1] == any_tag);
      if (waited_q >= 2'd2) i_waited_2 : assert (held[2] == '0 && overs[2] && oldest_before_q[2] == any_tag);
      if (waited_q == 2'd3) i_waited_3 : assert (held[3] == '0 && oldest_before_q[3] == any_tag);
    end
  end

endmodule

bind rc_ledger rc_ledger_formal #(
    .Tags(Tags)
) u_formal (
    .accepts       (gen_kind[0].counts),
    .issues        (gen_kind[1].counts),
    .retires       (gen_kind[2].counts),
    .ends          (gen_kind[3].counts),
    .sums          ({gen_kind[3].sum, gen_kind[2].sum, gen_kind[1].sum, gen_kind[0].sum}),
    .events_q      ({gen_kind[3].event_q, gen_kind[2].event_q, gen_kind[1].event_q, gen_kind[0].event_q}),
    .tags_q        ({gen_kind[3].tag_q, gen_kind[2].tag_q, gen_kind[1].tag_q, gen_kind[0].tag_q}),
    .counts_write_q(u_counts.write_q),
    .counts_read_q (u_counts.read_q),
    .counts_full_q (u_counts.full_q),
    .*
);
