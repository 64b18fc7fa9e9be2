// Listens to the packets at a MAC, keeps those that carry PTP with the time of their first beat, and gives them to the core's clock one
// after the other. PTP is EtherType 0x88F7 (IEEE 1588-2019, annex E) or UDP over IPv4 to port 319 or 320 (annex C), behind one VLAN tag
// or none. Of others, and of those that are marked as wrong or have more than 128 bytes, nothing is kept; the line never waits.
module ptp_tap
  import time_pkg::*;
#(
    parameter int unsigned MacW     = 512,
    parameter int unsigned SlotsLog = 3,    // 2^this less one are kept, and one is under way

    localparam int unsigned MacKeepW = MacW / 8
) (
    // At the MAC: a beat is one that is taken
    input logic line_clk,
    input logic line_rst,

    input logic [    MacW-1:0] tdata_i,
    input logic [MacKeepW-1:0] tkeep_i,
    input logic                tlast_i,
    input logic                tuser_i,    // with tlast: wrong
    input logic                taken_i,
    input tai_t                tai_i,
    input logic                enable_i,   // of any clock

    // The oldest one
    input  logic        clk,
    input  logic        rst,
    output logic        valid_o,
    output logic [ 7:0] bytes_o,
    output tai_t        tai_o,
    input  logic [ 4:0] index_i,
    output logic [31:0] word_o,   // three cycles after its index
    input  logic        next_i,   // pulse: it is given back
    output logic        lost_o    // pulse: one had no room
);

  localparam int unsigned WIDE = MacW < 32 ? 32 : MacW;
  localparam int unsigned KEEP_W = WIDE / 8;
  localparam int unsigned BYTES = 128;
  localparam int unsigned BEATS = (BYTES + KEEP_W - 1) / KEEP_W;
  localparam int unsigned BEAT_W = $clog2(BEATS + 1);
  localparam int unsigned AT_W = BEATS > 1 ? $clog2(BEATS) : 1;
  localparam int unsigned SLOTS = 1 << SlotsLog;
  localparam int unsigned LANES = WIDE / 32;
  localparam int unsigned GROUP_W = 112;
  localparam int unsigned GROUPS = (WIDE + GROUP_W - 1) / GROUP_W;
  localparam int unsigned LANE_W = LANES > 1 ? $clog2(LANES) : 1;

  // Bytes that tell what a packet is, and where they are without a tag
  typedef struct packed {
    logic [15:0] ether_type;
    logic [7:0]  version;     // and length of the IP header
    logic [7:0]  protocol;
    logic [15:0] port;
  } head_t;

  function automatic logic is_ptp(input head_t head);
    return head.ether_type == 16'h88f7 || (head.ether_type == 16'h0800 && head.version == 8'h45 &&
           head.protocol == 8'd17 && (head.port == 16'd319 || head.port == 16'd320));
  endfunction

  // A cycle later, and 32 bits wide at least
  logic [WIDE-1:0] data;
  logic [KEEP_W-1:0] keep;
  logic last, user, valid, first_q;
  tai_t stamp_q;

  if (MacW < 32) begin : gen_widen
    line_widen #(
        .InW (MacW),
        .OutW(32)
    ) u_widen (
        .clk          (line_clk),
        .rst          (line_rst),
        .s_axis_tdata (tdata_i),
        .s_axis_tkeep (tkeep_i),
        .s_axis_tlast (tlast_i),
        .s_axis_tuser (tuser_i),
        .s_axis_tvalid(taken_i),
        .m_axis_tdata (data),
        .m_axis_tkeep (keep),
        .m_axis_tlast (last),
        .m_axis_tuser (user),
        .m_axis_tvalid(valid)
    );
  end else begin : gen_as_it_is
    always_ff @(posedge line_clk) begin
      {data, keep, last, user} <= {tdata_i, tkeep_i, tlast_i, tuser_i};
      valid <= taken_i && !line_rst;
    end
  end

  // Its place, its bytes, its stamp
  logic [BEAT_W-1:0] beat_q;  // BEATS from there on
  logic [SlotsLog-1:0] slot;
  // No side forgets alone how many there are: no reset, they start as the FPGA powers up.
  logic [SlotsLog-1:0] slot_q = '0;
  logic [SlotsLog:0] used_q = '0;
  logic [7:0] bytes_q;
  head_t [1:0] head_q;  // without a tag, and behind one
  tai_t end_stamp_q;
  logic ends_q, wrong_q, has_tag, wanted, commit, lost, freed, enabled;

  always_ff @(posedge line_clk) begin
    if (taken_i) first_q <= tlast_i;
    if (taken_i && first_q) stamp_q <= tai_i;
    if (line_rst) first_q <= 1'b1;
  end

  function automatic logic [7:0] octet(input logic [7:0] old, input int unsigned place);
    if (32'(beat_q) == place / KEEP_W) return data[8*(place%KEEP_W)+:8];
    return beat_q == '0 ? '0 : old;
  endfunction

  always_ff @(posedge line_clk) begin
    ends_q <= valid && last;
    if (valid) begin
      for (int unsigned t = 0; t < 2; t++) begin
        head_q[t] <= '{
            ether_type: {octet(head_q[t].ether_type[15:8], 12 + 4 * t), octet(head_q[t].ether_type[7:0], 13 + 4 * t)},
            version: octet(head_q[t].version, 14 + 4 * t),
            protocol: octet(head_q[t].protocol, 23 + 4 * t),
            port: {octet(head_q[t].port[15:8], 36 + 4 * t), octet(head_q[t].port[7:0], 37 + 4 * t)}
        };
      end
      beat_q <= last ? '0 : beat_q + BEAT_W'(beat_q != BEAT_W'(BEATS));
      bytes_q <= 8'(beat_q) * 8'(KEEP_W) + 8'($countones(keep));
      wrong_q <= user || beat_q == BEAT_W'(BEATS);
      end_stamp_q <= stamp_q;
    end
    slot_q <= slot;
    used_q <= used_q + (SlotsLog + 1)'(commit) - (SlotsLog + 1)'(freed);
    if (line_rst) begin
      beat_q <= '0;
      ends_q <= 1'b0;
    end
  end

  assign has_tag = head_q[0].ether_type == 16'h8100;
  assign wanted = ends_q && !wrong_q && enabled && (is_ptp(head_q[0]) || (has_tag && is_ptp(head_q[1])));
  assign commit = wanted && used_q != (SlotsLog + 1)'(SLOTS - 1);
  assign lost = wanted && !commit;
  assign slot = slot_q + SlotsLog'(commit);

  cdc_bits u_enable (
      .clk   (line_clk),
      .bits_i(enable_i),
      .bits_o(enabled)
  );

  logic committed;

  cdc_pulse u_commit (
      .s_clk  (line_clk),
      .pulse_i(commit),
      .m_clk  (clk),
      .pulse_o(committed)
  );

  cdc_pulse u_lost (
      .s_clk  (line_clk),
      .pulse_i(lost),
      .m_clk  (clk),
      .pulse_o(lost_o)
  );

  logic give;

  cdc_pulse u_freed (
      .s_clk  (clk),
      .pulse_i(give),
      .m_clk  (line_clk),
      .pulse_o(freed)
  );

  // The core's side
  logic [SlotsLog-1:0] oldest_q = '0;
  logic [SlotsLog:0] waiting_q = '0;
  logic [1:0] settled_q;
  logic [WIDE-1:0] beat;
  logic [LANES-1:0][31:0] lanes;
  logic [LANE_W-1:0] lane, lane_q, lane_q2;
  logic [AT_W-1:0] at;
  (* keep, dont_merge *)logic [GROUPS-1:0][SlotsLog+AT_W-1:0] address_q;  // a copy for some bits each

  if (LANES > 1) begin : gen_lanes
    assign lane = index_i[LANE_W-1:0];
  end else begin : gen_no_lanes
    assign lane = '0;
  end

  if (BEATS > 1) begin : gen_beats
    assign at = index_i[4-:AT_W];
  end else begin : gen_no_beats
    assign at = '0;
  end

  cdc_ram #(
      .DataW (WIDE),
      .Depth (SLOTS << AT_W),
      .GroupW(GROUP_W)
  ) u_data (
      .s_clk       (line_clk),
      .write_i     (valid && beat_q != BEAT_W'(BEATS)),
      .write_addr_i({slot, beat_q[AT_W-1:0]}),
      .write_data_i(data),
      .m_clk       (clk),
      .read_i      ('1),
      .read_addr_i (address_q),
      .read_data_o (beat)
  );

  cdc_ram #(
      .DataW(8 + $bits(tai_t)),
      .Depth(SLOTS)
  ) u_stamps (
      .s_clk       (line_clk),
      .write_i     (commit),
      .write_addr_i(slot_q),
      .write_data_i({bytes_q, end_stamp_q}),
      .m_clk       (clk),
      .read_i      (1'b1),
      .read_addr_i (oldest_q),
      .read_data_o ({bytes_o, tai_o})
  );

  assign give = next_i && valid_o;
  assign valid_o = waiting_q != '0 && settled_q == '1;
  assign lanes = beat;

  always_ff @(posedge clk) begin
    oldest_q <= oldest_q + SlotsLog'(give);
    waiting_q <= waiting_q + (SlotsLog + 1)'(committed) - (SlotsLog + 1)'(give);
    settled_q <= give || waiting_q == '0 ? '0 : {settled_q[0], 1'b1};
    // A copy asks whether it changes: tools make one of equal ones.
    for (int unsigned g = 0; g < GROUPS; g++) if (address_q[g] != {oldest_q, at}) address_q[g] <= {oldest_q, at};
    lane_q <= lane;
    lane_q2 <= lane_q;
    word_o <= lanes[lane_q2];
    if (rst) begin
      address_q <= '0;
      settled_q <= '0;
    end
  end

endmodule
