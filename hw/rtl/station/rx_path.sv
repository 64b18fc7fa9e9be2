// From a MAC to the blocks that frames are for: those for this station, by class, without VLAN tag, at 64 bits. Wiring only.
//
//   MAC -> rx_filter -> axis_frame_fifo -> axis_narrow -> vlan_strip -> frames
module rx_path
  import roce_rx_pkg::*;
#(
    parameter int unsigned DataW  = 512,
    parameter int unsigned Depth  = 512,  // beats that wait
    parameter int unsigned Frames = 64,   // that wait, at most

    localparam int unsigned KeepW = DataW / 8
) (
    input logic clk,
    input logic rst,

    // The station's own addresses
    input logic [47:0] local_mac_i,
    input logic [31:0] local_ip_i,

    // Frames without FCS. A MAC cannot wait
    input logic [DataW-1:0] s_axis_tdata,
    input logic [KeepW-1:0] s_axis_tkeep,
    input logic             s_axis_tlast,
    input logic             s_axis_tuser,   // with tlast: wrong FCS, or cut
    input logic             s_axis_tvalid,

    output logic     [63:0] m_axis_tdata,
    output logic     [ 7:0] m_axis_tkeep,
    output logic            m_axis_tlast,
    output rx_user_t        m_axis_tuser,
    output logic            m_axis_tvalid,
    input  logic            m_axis_tready,

    output logic [RX_DROPS-1:0] dropped_o  // pulse, by reason
);

  logic [DataW-1:0] judged_tdata, whole_tdata;
  logic [KeepW-1:0] judged_tkeep, whole_tkeep;
  rx_user_t judged_tuser, whole_tuser, narrow_tuser;
  logic judged_tlast, judged_tvalid, drop, lost, whole_tlast, whole_tvalid, whole_tready;
  logic [RX_DROPS-1:0] dropped;
  logic [63:0] narrow_tdata;
  logic [7:0] narrow_tkeep;
  logic narrow_tlast, narrow_tvalid, narrow_tready;

  rx_filter #(
      .DataW(DataW)
  ) u_filter (
      .clk,
      .rst,
      .local_mac_i,
      .local_ip_i,
      .s_axis_tdata,
      .s_axis_tkeep,
      .s_axis_tlast,
      .s_axis_tuser,
      .s_axis_tvalid,
      .m_axis_tdata (judged_tdata),
      .m_axis_tkeep (judged_tkeep),
      .m_axis_tlast (judged_tlast),
      .m_axis_tuser (judged_tuser),
      .m_axis_tvalid(judged_tvalid),
      .drop_o       (drop),
      .dropped_o    (dropped)
  );

  axis_frame_fifo #(
      .DataW (DataW),
      .UserW ($bits(rx_user_t)),
      .Depth (Depth),
      .Frames(Frames)
  ) u_frames (
      .clk,
      .rst,
      .s_axis_tdata (judged_tdata),
      .s_axis_tkeep (judged_tkeep),
      .s_axis_tlast (judged_tlast),
      .s_axis_tuser (judged_tuser),
      .s_axis_tvalid(judged_tvalid),
      .drop_i       (drop),
      .m_axis_tdata (whole_tdata),
      .m_axis_tkeep (whole_tkeep),
      .m_axis_tlast (whole_tlast),
      .m_axis_tuser (whole_tuser),
      .m_axis_tvalid(whole_tvalid),
      .m_axis_tready(whole_tready),
      .lost_o       (lost)
  );

  always_comb begin
    dropped_o = dropped;
    dropped_o[DROP_FULL] = lost;
  end

  axis_narrow #(
      .DataW(DataW),
      .UserW($bits(rx_user_t))
  ) u_narrow (
      .clk,
      .rst,
      .s_axis_tdata (whole_tdata),
      .s_axis_tkeep (whole_tkeep),
      .s_axis_tlast (whole_tlast),
      .s_axis_tuser (whole_tuser),
      .s_axis_tvalid(whole_tvalid),
      .s_axis_tready(whole_tready),
      .m_axis_tdata (narrow_tdata),
      .m_axis_tkeep (narrow_tkeep),
      .m_axis_tlast (narrow_tlast),
      .m_axis_tuser (narrow_tuser),
      .m_axis_tvalid(narrow_tvalid),
      .m_axis_tready(narrow_tready)
  );

  vlan_strip u_strip (
      .clk,
      .rst,
      .s_axis_tdata (narrow_tdata),
      .s_axis_tkeep (narrow_tkeep),
      .s_axis_tlast (narrow_tlast),
      .s_axis_tuser (narrow_tuser),
      .s_axis_tvalid(narrow_tvalid),
      .s_axis_tready(narrow_tready),
      .m_axis_tdata,
      .m_axis_tkeep,
      .m_axis_tlast,
      .m_axis_tuser,
      .m_axis_tvalid,
      .m_axis_tready
  );

endmodule
