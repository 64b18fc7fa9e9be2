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
    output logic [7:0] tag_o,       // of the frame to which the next belongs
    output logic       ready_o,
    input  logic       accepted_i,  // pulse

    // Transmissions of kept descriptors begin
    input logic       issued_i,     // pulse
    input logic [7:0] issued_tag_i,

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

  localparam int unsigned TAG_W = $clog2(Tags);
  localparam int unsigned COUNTS = 32;  // frames that wait to be counted

  if (Tags < 4 || Tags > 256 || (Tags & (Tags - 1)) != 0) begin : gen_check
    $error("%m: Tags = %0d must be a power of two, 4 to 256", Tags);
  end

  typedef logic [TAG_W-1:0] tag_t;

  // Tags: from the oldest frame that is held to the one whose descriptors come now.
  tag_t oldest_q, newest_q, clear_q;
  logic clearing_q, over;
  logic [15:0] accepted_q;

  assign tag_o = 8'(newest_q);
  assign ready_o = !clearing_q;
  assign over = s_axis_over_tvalid && s_axis_over_tdata == accepted_q;
  assign s_axis_over_tready = over && !clearing_q && tag_t'(newest_q + 1'b1) != oldest_q;

  // What is under way, in order
  logic out_valid, out_rc, out_last;
  logic [7:0] out_tag, out_destination;

  axis_fifo #(
      .DataW(18),
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

  // Holds by tag, taken and given back: each in a memory that one event writes. All four start equal, and end so.
  logic [15:0] accepts[Tags], issues[Tags], retires[Tags], ends[Tags];
  logic retired;
  logic [15:0] held;
  tag_t retired_tag, issued_tag, out_at;

  assign retired_tag = tag_t'(s_axis_retired_tdata.tag);
  assign issued_tag = tag_t'(issued_tag_i);
  assign out_at = tag_t'(out_tag);
  assign retired = s_axis_retired_tvalid && s_axis_retired_tready;
  assign held = accepts[oldest_q] + issues[oldest_q] - retires[oldest_q] - ends[oldest_q];
  assign release_o = !clearing_q && oldest_q != newest_q && held == '0;

  always_ff @(posedge clk) begin
    if (clearing_q || accepted_i) begin
      accepts[clearing_q ? clear_q : newest_q] <= clearing_q ? '0 : accepts[newest_q] + 1'b1;
    end
    if (clearing_q || issued_i) begin
      issues[clearing_q ? clear_q : issued_tag] <= clearing_q ? '0 : issues[issued_tag] + 1'b1;
    end
    if (clearing_q || retired) begin
      retires[clearing_q ? clear_q : retired_tag] <= clearing_q ? '0 : retires[retired_tag] + 1'b1;
    end
    if (clearing_q || ended_i) begin
      ends[clearing_q ? clear_q : out_at] <= clearing_q ? '0 : ends[out_at] + 1'b1;
    end

    clear_q <= clear_q + 1'b1;
    if (clear_q == '1) clearing_q <= 1'b0;
    if (accepted_i) accepted_q <= accepted_q + 1'b1;
    if (s_axis_over_tready) newest_q <= newest_q + 1'b1;
    if (release_o) oldest_q <= oldest_q + 1'b1;
    if (rst) begin
      clear_q <= '0;
      clearing_q <= 1'b1;
      accepted_q <= '0;
      newest_q <= '0;
      oldest_q <= '0;
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

  assign idle_o = oldest_q == newest_q && held == '0 && !out_valid && !s_axis_over_tvalid && !left_q &&
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
