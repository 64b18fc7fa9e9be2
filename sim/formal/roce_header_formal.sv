// roce_header lays one header for each packet, in their order: the beats and tkeep that its fields ask for.
// What the bytes say is for the bench.
module roce_header_formal
  import roce_pkg::*;
#(
    parameter int unsigned DataW = 64,

    localparam int unsigned KeepW  = DataW / 8,
    localparam int unsigned Beats  = (HEADER_BYTES_MAX + KeepW - 1) / KeepW,
    localparam int unsigned CountW = Beats > 1 ? $clog2(Beats) : 1,
    localparam int unsigned BeatW  = DataW + KeepW + 1 + $bits(header_user_t),
    localparam int unsigned ShownW = 8 + 1 + 1 + $bits(header_user_t)
) (
    input logic clk,
    input logic rst,

    input packet_t s_axis_pkt_tdata,
    input logic    s_axis_pkt_tvalid,
    input logic    s_axis_pkt_tready,

    input logic         [DataW-1:0] m_axis_hdr_tdata,
    input logic         [KeepW-1:0] m_axis_hdr_tkeep,
    input logic                     m_axis_hdr_tlast,
    input header_user_t             m_axis_hdr_tuser,
    input logic                     m_axis_hdr_tvalid,
    input logic                     m_axis_hdr_tready,

    input logic                   pace_all_i,
    input logic [Beats*DataW-1:0] lanes,
    input logic [     CountW-1:0] beat_q,
    input logic                   last_q,
    input logic [      Beats-1:0] at_q,
    input logic [           15:0] checksum,
    input logic [           15:0] checksum_d,
    input logic                   has_vlan,
    input logic                   has_reth,
    input logic                   ready,
    input logic [      BeatW-1:0] data_q,
    input logic [      BeatW-1:0] skid_q,
    input logic                   valid_q,
    input logic                   skid_valid_q,
    input logic                   in_step  // the copies of u_reg's control are equal
);

  reset_rule u_reset (.*);

  hold_rule #(
      .DataW ($bits(packet_t)),
      .Assume(1'b1)
  ) u_source (
      .clk,
      .rst,
      .tdata_i (s_axis_pkt_tdata),
      .tvalid_i(s_axis_pkt_tvalid),
      .tready_i(s_axis_pkt_tready)
  );

  hold_rule #(
      .DataW(BeatW)
  ) u_hold (
      .clk,
      .rst,
      .tdata_i ({m_axis_hdr_tuser, m_axis_hdr_tlast, m_axis_hdr_tkeep, m_axis_hdr_tdata}),
      .tvalid_i(m_axis_hdr_tvalid),
      .tready_i(m_axis_hdr_tready)
  );

  // The beat that must be next: `done_q` bytes of the packet's header are laid.
  logic [7:0] done_q, left;
  logic [1:0] words;
  logic push, last;
  header_user_t user;
  logic [12:0] remaining;
  logic [12:0] line_bytes;  // from the preamble to the gap: 24 beside the frame, and 14 of its own before UDP's 20

  assign push = s_axis_pkt_tvalid && ready;
  assign words = 2'(s_axis_pkt_tdata.has_imm) + 2'(s_axis_pkt_tdata.path.has_vlan);
  assign left = 8'd54 + (s_axis_pkt_tdata.has_reth ? 8'd16 : 8'd0) + {4'd0, words, 2'd0} - done_q;
  assign last = left <= 8'(KeepW);
  assign user = '{
          status: s_axis_pkt_tdata.status,
          ends: s_axis_pkt_tdata.ends,
          index: s_axis_pkt_tdata.index,
          length: s_axis_pkt_tdata.length,
          reth: s_axis_pkt_tdata.has_reth,
          words: words,
          has_vlan: s_axis_pkt_tdata.path.has_vlan,
          limited: s_axis_pkt_tdata.limited || pace_all_i,
          line_bytes: line_bytes,
          left: remaining,
          one_left: remaining < 13'(KeepW),
          one_read: s_axis_pkt_tdata.length <= 13'(KeepW),
          refused: s_axis_pkt_tdata.status != OK
      };
  assign line_bytes = s_axis_pkt_tdata.udp_length + 13'd58 + (s_axis_pkt_tdata.path.has_vlan ? 13'd4 : '0);
  // Ethernet's 14 bytes and IPv4's 20 beside UDP, without the ICRC, and without the header beats before the last.
  assign remaining = s_axis_pkt_tdata.udp_length + 13'd30 + (s_axis_pkt_tdata.path.has_vlan ? 13'd4 : '0) -
      (13'(left + done_q) & ~13'(KeepW - 1));
  // Of the lanes one is followed, any.
  logic [$clog2(KeepW)-1:0] any_lane;
  logic [7:0] lane;

  assign lane = lanes[8*(32'(done_q)+32'(any_lane))+:8];

  function automatic logic [ShownW-1:0] shown(input logic [BeatW-1:0] beat);
    return {beat[BeatW-1:DataW+KeepW], beat[DataW+32'(any_lane)], beat[8*32'(any_lane)+:8]};
  endfunction

  always_ff @(posedge clk) begin
    any_lane <= any_lane;
    if (push) done_q <= last ? '0 : done_q + 8'(KeepW);
    if (rst) done_q <= '0;
  end

  logic [1:0] count;

  queue_rule #(
      .DataW(ShownW),
      .Depth(2)
  ) u_queue (
      .clk,
      .rst,
      .push_data_i({user, last, 8'(any_lane) < left, lane}),
      .push_i     (push),
      .pop_data_i (shown({m_axis_hdr_tuser, m_axis_hdr_tlast, m_axis_hdr_tkeep, m_axis_hdr_tdata})),
      .pop_i      (m_axis_hdr_tvalid && m_axis_hdr_tready),
      .count_o    (count),
      .held_i     (2'(valid_q) + 2'(skid_valid_q)),
      .items_i    ({shown(skid_q), shown(data_q)})
  );

  always_comb begin
    if (!rst) begin
      a_taken : assert ((s_axis_pkt_tvalid && s_axis_pkt_tready) == (push && last));
      a_accepts : assert (ready == (count != 2'd2));
      a_offers : assert (m_axis_hdr_tvalid == (count != '0));
      i_beat : assert (done_q == 8'(beat_q) * 8'(KeepW));
      i_at : assert (at_q == Beats'(1) << beat_q && 32'(beat_q) < Beats);
      i_checksum : assert (done_q == '0 || (checksum == checksum_d && has_vlan == s_axis_pkt_tdata.path.has_vlan &&
          has_reth == s_axis_pkt_tdata.has_reth));
      i_last : assert (last_q == (done_q != '0 && last));
      i_step : assert (in_step);
      i_inside : assert (done_q == '0 || (s_axis_pkt_tvalid && left <= 8'(HEADER_BYTES_MAX)));
    end
  end

endmodule

bind roce_header roce_header_formal #(
    .DataW(DataW)
) u_formal (
    .lanes(lanes[0] | checksums[0]),
    .at_q(at_q[0]),
    .has_vlan(has_vlan[0]),
    .data_q({u_reg.data_q, gen_group[0].u_lanes.data_q}),
    .skid_q({u_reg.skid_q, gen_group[0].u_lanes.skid_q}),
    .valid_q(u_reg.valid_q),
    .skid_valid_q(u_reg.skid_valid_q),
    .in_step((u_reg.valids_q == '0 || &u_reg.valids_q) && (u_reg.skid_valids_q == '0 || &u_reg.skid_valids_q) &&
      gen_group[0].u_lanes.valids_q[0] == u_reg.valid_q && gen_group[0].u_lanes.skid_valids_q[0] == u_reg.skid_valid_q),
    .*
);
