// A station without data: the receive path, what it does for its neighbours, and the way back to the MAC. For simulation only.
module neighbour_board
  import neighbour_pkg::*;
  import roce_rx_pkg::*;
#(
    parameter int unsigned DataW = 512,

    localparam int unsigned KeepW = DataW / 8
) (
    input logic clk,
    input logic rst,

    input neighbour_config_t config_i,
    input logic              link_up_i,

    input logic [DataW-1:0] s_axis_tdata,
    input logic [KeepW-1:0] s_axis_tkeep,
    input logic             s_axis_tlast,
    input logic             s_axis_tuser,
    input logic             s_axis_tvalid,

    input  resolve_t  s_axis_resolve_tdata,
    input  logic      s_axis_resolve_tvalid,
    output logic      s_axis_resolve_tready,
    output resolved_t m_axis_resolved_tdata,
    output logic      m_axis_resolved_tvalid,

    output logic [DataW-1:0] m_axis_tdata,
    output logic [KeepW-1:0] m_axis_tkeep,
    output logic             m_axis_tlast,
    output logic             m_axis_tvalid,

    output neighbour_events_t                events_o,
    output logic              [RX_DROPS-1:0] dropped_o,
    output logic              [        47:0] conflict_mac_o,
    output logic                             hold_data_o
);

  logic [63:0] in_tdata, out_tdata;
  logic [7:0] in_tkeep, out_tkeep;
  logic [DataW-1:0] wide_tdata;
  logic [KeepW-1:0] wide_tkeep;
  logic in_tlast, in_tvalid, in_tready, out_tlast, out_tvalid, out_tready, wide_tlast, wide_tvalid, wide_tready;
  logic hold_control, data_tready, idle;
  logic out_user, wide_user;
  rx_user_t in_tuser;

  rx_path #(
      .DataW(DataW)
  ) u_rx (
      .clk,
      .rst,
      .local_mac_i  (config_i.mac),
      .local_ip_i   (config_i.ip),
      .s_axis_tdata,
      .s_axis_tkeep,
      .s_axis_tlast,
      .s_axis_tuser,
      .s_axis_tvalid,
      .m_axis_tdata (in_tdata),
      .m_axis_tkeep (in_tkeep),
      .m_axis_tlast (in_tlast),
      .m_axis_tuser (in_tuser),
      .m_axis_tvalid(in_tvalid),
      .m_axis_tready(in_tready),
      .dropped_o
  );

  neighbour u_neighbour (
      .clk,
      .rst,
      .config_i,
      .link_up_i,
      .announce_i            (1'b0),
      .s_axis_tdata          (in_tdata),
      .s_axis_tkeep          (in_tkeep),
      .s_axis_tlast          (in_tlast),
      .s_axis_tuser          (in_tuser),
      .s_axis_tvalid         (in_tvalid),
      .s_axis_tready         (in_tready),
      .s_axis_resolve_tdata,
      .s_axis_resolve_tvalid,
      .s_axis_resolve_tready,
      .m_axis_resolved_tdata,
      .m_axis_resolved_tvalid,
      .m_axis_resolved_tready(1'b1),
      .m_axis_tdata          (out_tdata),
      .m_axis_tkeep          (out_tkeep),
      .m_axis_tlast          (out_tlast),
      .m_axis_tvalid         (out_tvalid),
      .m_axis_tready         (out_tready),
      .hold_data_o,
      .hold_control_o        (hold_control),
      .events_o,
      .conflict_mac_o
  );

  axis_widen #(
      .OutW(DataW)
  ) u_widen (
      .clk,
      .rst,
      .s_axis_tdata (out_tdata),
      .s_axis_tkeep (out_tkeep),
      .s_axis_tlast (out_tlast),
      .s_axis_tuser (1'b0),
      .s_axis_tvalid(out_tvalid),
      .s_axis_tready(out_tready),
      .m_axis_tdata (wide_tdata),
      .m_axis_tkeep (wide_tkeep),
      .m_axis_tlast (wide_tlast),
      .m_axis_tuser (wide_user),
      .m_axis_tvalid(wide_tvalid),
      .m_axis_tready(wide_tready)
  );

  packet_merge #(
      .DataW(DataW)
  ) u_merge (
      .clk,
      .rst,
      .hold_data_i          (hold_data_o),
      .hold_control_i       (hold_control),
      .s_axis_data_tdata    ('0),
      .s_axis_data_tkeep    ('0),
      .s_axis_data_tlast    (1'b0),
      .s_axis_data_tuser    (1'b0),
      .s_axis_data_tvalid   (1'b0),
      .s_axis_data_tready   (data_tready),
      .s_axis_control_tdata (wide_tdata),
      .s_axis_control_tkeep (wide_tkeep),
      .s_axis_control_tlast (wide_tlast),
      .s_axis_control_tuser (wide_user),
      .s_axis_control_tvalid(wide_tvalid),
      .s_axis_control_tready(wide_tready),
      .m_axis_tdata,
      .m_axis_tkeep,
      .m_axis_tlast,
      .m_axis_tuser         (out_user),
      .m_axis_tvalid,
      .m_axis_tready        (1'b1),
      .idle_o               (idle)
  );

  logic unused;
  assign unused = ^{data_tready, idle, out_user};

endmodule
