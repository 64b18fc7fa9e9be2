// Follows every descriptor and every transmission to its end: counts frames as sent or failed, and says when nobody needs a frame's
// memory any more. Stands for frame_ledger where there is an rc_requester. After a reset it takes no frame for Tags cycles.
module rc_ledger
  import framelane_pkg::*;
  import rc_pkg::*;
  import tx_counters_pkg::*;
#(
    parameter int unsigned Tags  = 64,  // frames that may be held
    parameter int unsigned Depth = 64   // messages under way
) (
    input logic clk,
    input logic rst,

    // Descriptors, as rc_requester accepts them; only with ready_o
    output tag_t tag_o,       // of the frame to which the next belongs
    output logic ready_o,
    input  logic accepted_i,  // pulse

    // Transmissions of kept descriptors begin
    input logic issued_i,      // pulse
    input tag_t issued_tag_i,

    // Descriptors end
    input  rc_retired_t s_axis_retired_tdata,
    input  logic        s_axis_retired_tvalid,
    output logic        s_axis_retired_tready,

    // Messages, as they are handed to the packetizer
    input  rc_item_t s_axis_item_tdata,
    input  logic     s_axis_item_tvalid,
    output logic     s_axis_item_tready,

    // Ends of messages, in their order
    input logic ended_i,   // pulse
    input logic failed_i,

    // Ends of frames: descriptors up to there, modulo 2^16
    input  logic [15:0] s_axis_over_tdata,
    input  logic        s_axis_over_tvalid,
    output logic        s_axis_over_tready,

    // Counters of destinations: frames sent, or failed
    output count_t m_axis_count_tdata,
    output logic   m_axis_count_tvalid,
    input  logic   m_axis_count_tready,

    output logic release_o,  // pulse, one for each frame in order: its memory is free
    output logic idle_o
);

  localparam int unsigned INDEX_W = $clog2(Tags);
  localparam int unsigned COUNTS = 32;  // frames that wait to be counted

  if (Tags < 4 || Tags > 1 << TAG_W || (Tags & (Tags - 1)) != 0) begin : gen_check
    $error("%m: Tags = %0d must be a power of two, 4 to %0d", Tags, 1 << TAG_W);
  end

  typedef logic [INDEX_W-1:0] index_t;

  // Tags: from the oldest frame that is held to the one whose descriptors come now.
  index_t oldest_q, newest_q, next_q, clear_q;  // next_q: the one behind the newest
  logic clearing_q, over;
  logic [15:0] accepted_q;

  assign tag_o = tag_t'(newest_q);
  assign ready_o = !clearing_q;
  assign over = s_axis_over_tvalid && s_axis_over_tdata == accepted_q;
  assign s_axis_over_tready = over && !clearing_q && next_q != oldest_q;

  // What is under way, in order
  logic out_valid, out_rc, out_last;
  tag_t out_tag;
  logic [7:0] out_destination;

  axis_fifo #(
      .DataW(TAG_W + 10),
      .Depth(Depth)
  ) u_messages (
      .clk,
      .rst,
      .s_axis_tdata({
        s_axis_item_tdata.rc, s_axis_item_tdata.bd.last, s_axis_item_tdata.tag, s_axis_item_tdata.bd.destination_index
      }),
      .s_axis_tvalid(s_axis_item_tvalid),
      .s_axis_tready(s_axis_item_tready),
      .m_axis_tdata({out_rc, out_last, out_tag, out_destination}),
      .m_axis_tvalid(out_valid),
      .m_axis_tready(ended_i)
  );

  // Holds by tag, taken and given back. Each kind of event has a memory of its own, which it reads in one cycle and writes in the
  // next. All four start equal, and end so.
  localparam int unsigned ACCEPTS = 0;
  localparam int unsigned ISSUES = 1;
  localparam int unsigned RETIRES = 2;
  localparam int unsigned ENDS = 3;
  localparam int unsigned KINDS = 4;

  logic retired;
  logic [KINDS-1:0] events;
  index_t [KINDS-1:0] tags;
  logic [KINDS-1:0][15:0] shown;  // of the oldest frame

  assign retired = s_axis_retired_tvalid && s_axis_retired_tready;

  always_comb begin
    events[ACCEPTS] = accepted_i;
    tags[ACCEPTS] = newest_q;
    events[ISSUES] = issued_i;
    tags[ISSUES] = index_t'(issued_tag_i);
    events[RETIRES] = retired;
    tags[RETIRES] = index_t'(s_axis_retired_tdata.tag);
    events[ENDS] = ended_i;
    tags[ENDS] = index_t'(out_tag);
  end

  for (genvar k = 0; k < KINDS; k++) begin : gen_kind
    logic [15:0] counts[Tags];
    logic [15:0] count_q, sum, sum_q;
    logic event_q, again_q;  // again: what was read is being written
    index_t tag_q;

    assign sum = (again_q ? sum_q : count_q) + 1'b1;

    always_ff @(posedge clk) begin
      count_q <= counts[tags[k]];
      tag_q <= tags[k];
      event_q <= events[k];
      again_q <= event_q && tag_q == tags[k];
      sum_q <= sum;
      shown[k] <= counts[oldest_q];
      if (clearing_q || event_q) counts[clearing_q ? clear_q : tag_q] <= clearing_q ? '0 : sum;
      if (rst) event_q <= 1'b0;
    end
  end

  // What is known of the oldest frame is some cycles old: so is what counts as the newest. The frame behind a released one is looked
  // at when its own counts have come.
  localparam int unsigned LOOK = 2;   // cycles from a tag to its sums
  localparam int unsigned SHOWN = 4;  // from an event to them

  logic [15:0] taken_q, given_back_q;
  index_t [1:0] newest_before_q;
  logic [LOOK-1:0] looks_q;
  logic [SHOWN-1:0] recent_q;
  logic free;

  assign free = taken_q == given_back_q && looks_q == '0;
  assign release_o = !clearing_q && oldest_q != newest_before_q[1] && free;

  always_ff @(posedge clk) begin
    taken_q <= shown[ACCEPTS] + shown[ISSUES];
    given_back_q <= shown[RETIRES] + shown[ENDS];
    newest_before_q <= {newest_before_q[0], newest_q};
    looks_q <= {looks_q[LOOK-2:0], release_o};
    recent_q <= {recent_q[SHOWN-2:0], events != '0};

    clear_q <= clear_q + 1'b1;
    if (clear_q == '1) clearing_q <= 1'b0;
    if (accepted_i) accepted_q <= accepted_q + 1'b1;
    if (s_axis_over_tready) begin
      newest_q <= next_q;
      next_q   <= next_q + 1'b1;
    end
    if (release_o) oldest_q <= oldest_q + 1'b1;
    if (rst) begin
      clear_q <= '0;
      clearing_q <= 1'b1;
      accepted_q <= '0;
      newest_q <= '0;
      next_q <= index_t'(1);
      newest_before_q <= '0;
      oldest_q <= '0;
      looks_q <= '0;
      recent_q <= '0;
    end
  end

  // Frames are counted with their trailers: those of RC when they are retired, others when they have left. The ends of messages
  // cannot wait, those of descriptors can: until no other is to be counted.
  logic bad_q, left_q, left_failed_q, count_valid, count_failed, count_ready;
  logic [7:0] left_index_q, count_index;
  count_t count;

  always_ff @(posedge clk) begin
    left_q <= 1'b0;
    if (ended_i && !out_rc) begin
      bad_q <= !out_last && (bad_q || failed_i);
      left_q <= out_last;
      left_index_q <= out_destination;
      left_failed_q <= bad_q || failed_i;
    end
    if (rst) begin
      bad_q  <= 1'b0;
      left_q <= 1'b0;
    end
  end

  assign s_axis_retired_tready = !clearing_q && (!s_axis_retired_tdata.last || (!left_q && !m_axis_count_tvalid));
  assign count_valid = left_q || (retired && s_axis_retired_tdata.last);
  assign count_index = left_q ? left_index_q : s_axis_retired_tdata.destination_index;
  assign count_failed = left_q ? left_failed_q : s_axis_retired_tdata.failed;
  assign count = '{
          amount: 64'd1,
          index: destination_counter(count_index, count_failed ? DESTINATION_FAILED : DESTINATION_SENT)
      };

  axis_fifo #(
      .DataW($bits(count_t)),
      .Depth(COUNTS)
  ) u_counts (
      .clk,
      .rst,
      .s_axis_tdata (count),
      .s_axis_tvalid(count_valid),
      .s_axis_tready(count_ready),
      .m_axis_tdata (m_axis_count_tdata),
      .m_axis_tvalid(m_axis_count_tvalid),
      .m_axis_tready(m_axis_count_tready)
  );

  assign idle_o = oldest_q == newest_q && free && recent_q == '0 && !out_valid && !s_axis_over_tvalid && !left_q &&
      !m_axis_count_tvalid && !clearing_q;

  logic unused;
  assign unused = ^{s_axis_item_tdata, out_tag, issued_tag_i, s_axis_retired_tdata.tag};

`ifndef SYNTHESIS
  always @(posedge clk) begin
    if (!rst) begin
      assert (!left_q || count_ready)
      else $error("%m: a frame could not be counted");
      assert (!ended_i || out_valid)
      else $error("%m: the end of a message that never began");
    end
  end
`endif

endmodule
